package metadata_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/metadata"
)

func ExampleAddress() {
	kind := metadata.Address()
	fields, _ := structpb.NewStruct(map[string]any{"socket_address": map[string]any{"address": "10.0.0.1", "port_value": 3128.0}})
	proxy, err := kind.Parse(nil, resource.TypedConfig{Message: kind.Message, Fields: fields})
	fmt.Println(proxy, err)
	// Output: 10.0.0.1:3128 <nil>
}
