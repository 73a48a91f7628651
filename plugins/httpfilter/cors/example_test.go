package cors_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/cors"
)

func ExampleFilter() {
	f := cors.Filter()
	fields, _ := structpb.NewStruct(map[string]any{
		"allow_origin_string_match": []any{map[string]any{"suffix": ".example"}},
		"allow_methods":             "GET, POST",
	})
	override, err := f.ParseOverride(nil, resource.TypedConfig{Message: f.Override, Fields: fields})
	p := override.(cors.Policy)
	fmt.Println(p.Origins[0].Match("https://a.example"), p.Methods, p.Enabled, err)
	// Output: true GET, POST 1000000 <nil>
}
