package printable_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/internal/printable"
)

func ExampleText() {
	status := "overloaded\nlevel=INFO msg=\"all is well\""
	fmt.Println(printable.Text(status, printable.Quoted))
	fmt.Println(printable.Text("a long message", 6))
	// Output:
	// overloaded\nlevel=INFO msg="all is well"
	// a long…
}
