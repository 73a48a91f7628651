package router_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/internal/extensions/router"
)

func ExampleFilter() {
	f := router.Filter()
	fmt.Println(f.Config, "ends a list:", f.Terminal, "- for", f.Sides)
	// Output: envoy.extensions.filters.http.router.v3.Router ends a list: true - for client and server
}
