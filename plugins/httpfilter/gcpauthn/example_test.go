package gcpauthn_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/gcpauthn"
)

func ExampleFilter() {
	f := gcpauthn.Filter()
	config, err := f.Parse(nil, resource.TypedConfig{Message: f.Config})
	fmt.Printf("%+v %v\n", config, err)
	// Output: {CacheSize:10} <nil>
}
