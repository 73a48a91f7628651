package grpcxds_test

import (
	"fmt"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3" // for prototext
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// abort is the configuration of a fault filter that aborts every call.
const abort = `[type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { abort { grpc_status: 10 percentage { numerator: 100 } } } `

// Overrides at each level disable and enable a channel's filter.
func TestDisabledFiltersOfAChannel(t *testing.T) {
	p := newPlane(t)
	p.cluster("c", "e", newBackend(t, "b"))
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()))
	const (
		off = `typed_per_filter_config { key: "fault" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } } `
		on  = `typed_per_filter_config { key: "fault" value { ` + abort + `} } `
	)
	for i, test := range []struct {
		filter, host, route, cluster string
		want                         codes.Code
	}{
		{"", "", "", "", codes.Aborted},
		{"disabled: true", "", "", "", codes.OK},
		{"disabled: true", on, "", "", codes.Aborted},
		{"disabled: true", on, off, "", codes.OK},
		{"disabled: true", "", "", on, codes.Aborted},
		{"", off, "", "", codes.OK},
		{"", off, on, "", codes.Aborted},
		{"", "", on, off, codes.OK},
	} {
		name := fmt.Sprintf("svc%d", i)
		p.listener(name, fmt.Sprintf(`http_filters { name: "fault" %s typed_config { `+abort+`} } route_config { name: "r" virtual_hosts { name: "h" domains: "*" %s
			routes { match { prefix: "" } %s route { weighted_clusters { clusters { name: "c" weight { value: 1 } %s } } } } } }`, test.filter, test.host, test.route, test.cluster))
		if _, err := call(soon(t), newChannel(t, env, "xds:///"+name), "/p.S/M"); status.Code(err) != test.want {
			t.Errorf("listener %q, host %q, route %q, cluster %q: %v; want %v", test.filter, test.host, test.route, test.cluster, err, test.want)
		}
	}
}
