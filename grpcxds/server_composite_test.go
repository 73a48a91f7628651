package grpcxds

import (
	"testing"

	_ "github.com/cncf/xds/go/xds/type/matcher/v3"                                               // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"               // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/matcher/action/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"        // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"                             // for prototext
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A composite filter of a server chooses RBAC rules for each call. A call without a match fails with UNAVAILABLE (A103).
func TestServerComposite(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	w.publishListener(s.listener(`http_filters { name: "composite" typed_config { [type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] {
		extension_config { name: "c" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite] {} } }
		xds_matcher { matcher_list {
			matchers {
				predicate { single_predicate { input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-team" } } } value_match { prefix: "a" } } }
				on_match { action { name: "run" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction] {
					typed_config { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { rules { action: DENY policies { key: "all" value { permissions { any: true } principals { any: true } } } } } } } } } } } }
			matchers {
				predicate { single_predicate { input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: ":path" } } } value_match { suffix: "EmptyCall" } } }
				on_match { matcher { matcher_tree {
					input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-team" } } }
					exact_match_map { map { key: "b" value { action { name: "skip" typed_config { [type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter] {} } } } } } } } } } } } } } } ` + inline(anyRoute)))
	s.awaitServing()
	c := s.dial()
	for team, want := range map[string]codes.Code{"a1": codes.PermissionDenied, "b": codes.OK, "c": codes.Unavailable} {
		_, err := c.EmptyCall(metadata.AppendToOutgoingContext(s.ctx, "x-team", team), &testpb.Empty{})
		if status.Code(err) != want {
			t.Errorf("a call of the team %s: %v; want %v", team, err, want)
		}
	}
}
