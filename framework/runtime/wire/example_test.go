package wire_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// The example reads the name of a message and counts its parts, and skips everything else.
func ExampleReader() {
	body := []byte("\x0a\x05hello\x10\x01\x9a\x03\x00\x9a\x03\x00")
	name, parts := "", 0
	r := wire.Read(body)
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | wire.Len:
			name = r.String()
		case 51<<3 | wire.Len:
			parts++
			r.Skip()
		default:
			r.Skip()
		}
	}
	fmt.Println(name, parts, r.OK())
	// Output: hello 2 true
}
