package convert_test

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A conversion reports an invalid value with the path that the caller gives.
func ExampleDuration() {
	var root resource.Path
	v := new(resource.Violations)
	fmt.Println(convert.Duration(root.Field("interval"), durationpb.New(3*time.Second), v))
	fmt.Println(convert.Duration(root.Field("timeout"), &durationpb.Duration{Seconds: 1 << 40}, v))
	fmt.Println(v.Err())
	// Output:
	// 3s
	// 0s
	// timeout = 1099511627776s; must be a valid google.protobuf.Duration
}

func ExampleSet() {
	var seen convert.Set[string]
	for _, address := range []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.1:80"} {
		if seen.Before(address) {
			fmt.Println(address, "is there twice")
		}
	}
	// Output: 10.0.0.1:80 is there twice
}
