package rbac_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
)

// A server does all of this itself. The example shows the effect of a Listener's configuration.
func ExampleFilter() {
	f := rbac.Filter()
	fields, _ := structpb.NewStruct(map[string]any{"rules": map[string]any{"policies": map[string]any{"readers": map[string]any{
		"permissions": []any{map[string]any{"urlPath": map[string]any{"path": map[string]any{"exact": "/shop.Stock/Get"}}}},
		"principals":  []any{map[string]any{"any": true}},
	}}}})
	config, err := f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		fmt.Println(err)
		return
	}
	instance, err := f.NewServer(httpfilter.Host{Name: "rbac"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	i, err := instance.Interceptor(config, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, method := range []string{"/shop.Stock/Get", "/shop.Stock/Set"} {
		_, err := i.(httpfilter.ServerBefore)(context.Background(), &httpfilter.ServerCall{Method: method})
		fmt.Println(method, err)
	}
	// Output:
	// /shop.Stock/Get <nil>
	// /shop.Stock/Set rpc error: code = PermissionDenied desc = rbac: no policy allows the call
}
