package extension_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/xdstest"
)

// An update has the message of an extension's configuration.
func ExampleUpdate() {
	config, err := anypb.New(new(routerv3.Router))
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := xdstest.TryDecode(extension.Type(), &corev3.TypedExtensionConfig{Name: "router", TypedConfig: config})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Config.TypeURL, len(u.Config.Value), "bytes")
	// Output: type.googleapis.com/envoy.extensions.filters.http.router.v3.Router 0 bytes
}
