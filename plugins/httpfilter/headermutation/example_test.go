package headermutation_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/headermutation"
)

func ExampleFilter() {
	f := headermutation.Filter()
	fields, _ := structpb.NewStruct(map[string]any{"mutations": map[string]any{
		"request_mutations": []any{map[string]any{"remove": "x-internal"}},
	}})
	config, err := f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Println(config.(headermutation.Config).Request[0].Name, err)
	// Output: X-Internal <nil>
}
