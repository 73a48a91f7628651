package composite_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

func ExampleFilter() {
	f := composite.Filter()
	fields, err := structpb.NewStruct(map[string]any{
		"extension_config": map[string]any{"typed_config": map[string]any{"@type": "type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite"}},
		"xds_matcher":      map[string]any{"on_no_match": map[string]any{"keep_matching": true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Println(err)
	// Output:
	// xds_matcher.matcher_type; must have one of matcher_list, matcher_tree set (A106), and xds_matcher.on_no_match.keep_matching = true; must not be set: no filter of gRPC supports it (A103, A106), and xds_matcher.on_no_match; must have one of matcher, action set (A106)
}
