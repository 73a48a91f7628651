package extproc_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

func ExampleFilter() {
	f := extproc.Filter(nil)
	fields, err := structpb.NewStruct(map[string]any{"processing_mode": map[string]any{"request_body_mode": "STREAMED"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Println(err)
	// Output: grpc_service; must be set (A93), and processing_mode.request_body_mode = STREAMED; must be NONE or GRPC (A93)
}
