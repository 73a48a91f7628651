package composite_test

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/composite"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/fault"
)

// The calls of one team are aborted. Those of others pass.
const teams = `{
	"extension_config": {"name": "composite", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite"}},
	"xds_matcher": {
		"matcher_tree": {
			"input": {"name": "team", "typed_config": {"@type": "type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput", "header_name": "x-team"}},
			"exact_match_map": {"map": {"chaos": {"action": {"name": "abort", "typed_config": {
				"@type": "type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction",
				"typed_config": {"name": "fault", "typed_config": {
					"@type": "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault",
					"abort": {"grpc_status": 10, "percentage": {"numerator": 100}}}}}}}}}},
		"on_no_match": {"action": {"name": "skip", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter"}}}}}`

func ExampleFilter() {
	faults, f := fault.Filter(), composite.Filter()
	fields := new(structpb.Struct)
	if err := json.Unmarshal([]byte(teams), fields); err != nil {
		fmt.Println(err)
		return
	}
	// A channel does the following for the filters of a Listener.
	types, err := new(resource.Set).Extend(resource.GRPC, f, faults)
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := f.Parse(&resource.DecodeContext{Types: types}, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		fmt.Println(err)
		return
	}
	instance, err := f.NewClient(httpfilter.Host{Name: "composite", Filter: func(string) *httpfilter.Filter { return faults }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instance.Close()
	chosen, err := instance.Interceptor(config, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, team := range []string{"chaos", "shop"} {
		call := &httpfilter.ClientCall{Method: "/shop.Stock/Get", Metadata: metadata.Pairs("x-team", team)}
		_, err = chosen.(httpfilter.ClientBefore)(context.Background(), call)
		fmt.Printf("%s: %v\n", team, status.Code(err))
	}
	// Output:
	// chaos: Aborted
	// shop: OK
}
