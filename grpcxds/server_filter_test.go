package grpcxds

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// Overrides at each level disable and enable a server's filter.
func TestDisabledFiltersOfAServer(t *testing.T) {
	const (
		denyAll = `rules { action: DENY policies { key: "all" value { permissions { any: true } principals { any: true } } } } `
		off     = `typed_per_filter_config { key: "rbac" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } } `
		on      = `typed_per_filter_config { key: "rbac" value { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute] { rbac { ` + denyAll + `} } } } `
		hosts   = `virtual_hosts { domains: "plain" ` + anyRoute + ` }
			virtual_hosts { domains: "off" ` + off + `routes { match { prefix: "/grpc.testing" } non_forwarding_action {} }
				routes { match { prefix: "/on" } non_forwarding_action {} ` + on + `} }
			virtual_hosts { domains: "on" ` + on + `routes { match { prefix: "/grpc.testing" } non_forwarding_action {} }
				routes { match { prefix: "/off" } non_forwarding_action {} ` + off + `} }`
	)
	for _, filter := range []struct {
		text  string
		plain codes.Code // of a call without an override
	}{{"", codes.PermissionDenied}, {"disabled: true", codes.OK}} {
		w := newWorld(t)
		s := w.serve()
		w.publishListener(s.listener(`http_filters { name: "rbac" ` + filter.text + ` typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { ` + denyAll + `} } } ` +
			`route_config { name: "r" ` + hosts + `} `))
		s.awaitServing()
		for _, test := range []struct {
			authority, method string
			want              codes.Code
		}{
			{"plain", "/grpc.testing.TestService/EmptyCall", filter.plain},
			{"off", "/grpc.testing.TestService/EmptyCall", codes.OK},
			{"off", "/on.S/M", codes.PermissionDenied},
			{"on", "/grpc.testing.TestService/EmptyCall", codes.PermissionDenied},
			{"on", "/off.S/M", codes.Unimplemented},
		} {
			err := s.channel(grpc.WithAuthority(test.authority)).Invoke(s.ctx, test.method, &testpb.Empty{}, &testpb.Empty{})
			if status.Code(err) != test.want {
				t.Errorf("filter %q, authority %s, %s: %v; want %v", filter.text, test.authority, test.method, err, test.want)
			}
		}
	}
}
