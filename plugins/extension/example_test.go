package extension_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
	"github.com/xdsforge/xdsforge/xdstest"
)

// An update has the configuration as its HTTP filter parsed it.
func ExampleUpdate() {
	config, err := anypb.New(&faultv3.HTTPFault{MaxActiveFaults: wrapperspb.UInt32(2)})
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := xdstest.TryDecode(extension.Type(), &corev3.TypedExtensionConfig{Name: "faults", TypedConfig: config})
	if err != nil {
		fmt.Println(err)
		return
	}
	parsed, ok := u.Filter.(fault.Config)
	fmt.Println(u.Message, ok, *parsed.MaxActive)
	// Output: envoy.extensions.filters.http.fault.v3.HTTPFault true 2
}
