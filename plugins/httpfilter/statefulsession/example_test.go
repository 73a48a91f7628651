package statefulsession_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/statefulsession"
)

func ExampleFilter() {
	f := statefulsession.Filter()
	fields, _ := structpb.NewStruct(map[string]any{"disabled": true})
	config, err := f.ParseOverride(nil, resource.TypedConfig{Message: f.Override, Fields: fields})
	fmt.Printf("%+v %v\n", config, err)
	// Output: {Name: Path: TTL:0s} <nil>
}
