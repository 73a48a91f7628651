package grpcxds_test

import (
	"fmt"
	"strings"
	"testing"

	_ "github.com/cncf/xds/go/xds/type/matcher/v3"                                               // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"               // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/matcher/action/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"        // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"             // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"                             // for prototext
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
)

// byTeam returns a matcher that runs a filter for the calls with the header x-team: a, and none for those of b.
func byTeam(filter string) string {
	return `xds_matcher { matcher_tree { input { name: "team" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-team" } } }
		exact_match_map {
			map { key: "a" value { action { name: "run" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction] {
				filter_chain { typed_config { name: "inner" typed_config { ` + filter + ` } } } } } } } }
			map { key: "b" value { action { name: "skip" typed_config { [type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter] {} } } } } } } } `
}

// compositeFilter returns a composite filter for a list.
func compositeFilter(matcher string) string {
	return `http_filters { name: "composite" typed_config { [type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] {
		extension_config { name: "c" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite] {} } } ` + matcher + ` } } } `
}

// A composite filter of a channel chooses filters for each call. A route overrides its matcher. A filter that does not run on
// channels fails the calls that it is chosen for (A103).
func TestComposite(t *testing.T) {
	p := newPlane(t)
	p.cluster("c", "e", newBackend(t, "b"))
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()))
	override := func(filter string) string {
		return `typed_per_filter_config { key: "composite" value { [type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute] { ` + filter + ` } } } `
	}
	abort7 := `[type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { abort { grpc_status: 7 percentage { numerator: 100 } } } `
	p.routes("r", `virtual_hosts { name: "h" domains: "*"
		routes { match { path: "/o.S/M" } `+override(byTeam(abort7))+` route { cluster: "c" } }
		routes { match { path: "/none.S/M" } `+override("")+` route { cluster: "c" } }
		routes { match { path: "/rbac.S/M" } `+override(byTeam(`[type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {}`))+` route { cluster: "c" } }
		routes { match { prefix: "" } route { cluster: "c" } } }`)
	p.listener("svc", compositeFilter(byTeam(abort))+rds("r"))
	cc := newChannel(t, env, "xds:///svc")
	for _, tt := range []struct {
		method, team string
		want         codes.Code
	}{
		{"/p.S/M", "a", codes.Aborted},
		{"/p.S/M", "b", codes.OK},
		{"/p.S/M", "c", codes.Unavailable}, // no match
		{"/o.S/M", "a", codes.PermissionDenied},
		{"/o.S/M", "b", codes.OK},
		{"/none.S/M", "c", codes.OK},
		{"/rbac.S/M", "a", codes.Unavailable}, // RBAC runs on servers only
		{"/rbac.S/M", "b", codes.OK},
	} {
		_, err := call(metadata.AppendToOutgoingContext(soon(t), "x-team", tt.team), cc, tt.method)
		if status.Code(err) != tt.want {
			t.Errorf("%s of the team %s: %v; want %v", tt.method, tt.team, err, tt.want)
		}
	}
	// An update replaces the filters.
	p.listener("svc", compositeFilter(byTeam(abort7))+rds("r"))
	ctx := soon(t)
	for {
		_, err := call(metadata.AppendToOutgoingContext(ctx, "x-team", "a"), cc, "/p.S/M")
		if status.Code(err) == codes.PermissionDenied {
			return
		}
		if status.Code(err) != codes.Aborted {
			t.Fatalf("during an update: %v; want the old or the new status", err)
		}
	}
}

// A channel in profile Envoy does not decode matchers. A filter with a matcher fails the calls, because it may deny them. One without
// a matcher passes them.
func TestCompositeInProfileEnvoy(t *testing.T) {
	p := newPlane(t)
	p.cluster("c", "e", newBackend(t, "b"))
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()), xdsforge.WithProfile(xdsforge.Envoy))
	p.routes("r", `virtual_hosts { name: "h" domains: "*" routes { match { prefix: "" } route { cluster: "c" } } }`)
	for matcher, want := range map[string]codes.Code{byTeam(abort): codes.Unavailable, "": codes.OK} {
		name := fmt.Sprint("svc", len(matcher))
		p.listener(name, `stat_prefix: "s" `+compositeFilter(matcher)+rds("r"))
		_, err := call(metadata.AppendToOutgoingContext(soon(t), "x-team", "a"), newChannel(t, env, "xds:///"+name), "/p.S/M")
		if status.Code(err) != want || want != codes.OK && !strings.Contains(status.Convert(err).Message(), "profile Envoy") {
			t.Errorf("with the matcher %q: %v; want %v because of the profile", matcher, err, want)
		}
	}
}
