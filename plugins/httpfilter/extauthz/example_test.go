package extauthz_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

func ExampleFilter() {
	f := extauthz.Filter(nil)
	fields, err := structpb.NewStruct(map[string]any{"filter_enabled": map[string]any{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Println(err)
	// Output: grpc_service; must be set (A92), and filter_enabled.default_value; must be set (A92)
}
