package localratelimit_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/localratelimit"
)

func ExampleFilter() {
	f := localratelimit.Filter()
	fields, _ := structpb.NewStruct(map[string]any{"token_bucket": map[string]any{"max_tokens": 100.0, "fill_interval": "1s"}})
	config, err := f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Printf("%+v %v\n", *config.(localratelimit.Config).Bucket, err)
	// Output: {Max:100 PerFill:1 Interval:1s} <nil>
}
