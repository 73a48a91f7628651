package grpcxds_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A counted is a filter that counts its instances. A StringValue configures it.
type counted struct {
	instances atomic.Int64
	host      atomic.Value // the name of the newest instance
}

func (c *counted) filter() *httpfilter.Filter {
	parse := func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
		var v wrapperspb.StringValue
		err := c.Unmarshal(&v)
		return v.GetValue(), err
	}
	return &httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "google.protobuf.StringValue", Override: "google.protobuf.StringValue", Sides: resource.ClientSide,
			Parse: parse, ParseOverride: parse,
		},
		NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) {
			c.instances.Add(1)
			c.host.Store(h.Name)
			return httpfilter.ClientFunc(func(any, any) (httpfilter.ClientInterceptor, error) {
				return nil, nil //nolint:nilnil // lets every call pass
			})(h)
		},
	}
}

// A channel has instances only of filters that calls can reach: an override at the last level of each route may disable a filter that the
// Listener enables.
func TestInstancesOfAChannel(t *testing.T) {
	p := newPlane(t)
	p.cluster("c", "e", newBackend(t, "b"))
	p.cluster("d", "f", newBackend(t, "b"))
	const (
		off = `typed_per_filter_config { key: "x" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } } `
		on  = `typed_per_filter_config { key: "x" value { [type.googleapis.com/google.protobuf.StringValue] { value: "on" } } } `
		one = `match { prefix: "/p" } route { cluster: "c" } `
		all = `match { prefix: "" } route { cluster: "d" } `
	)
	weighted := func(first string, weight int, second string) string {
		return fmt.Sprintf(`match { prefix: "" } route { weighted_clusters { clusters { name: "c" weight { value: 1 } %s } clusters { name: "d" weight { value: %d } %s } } } `, first, weight, second)
	}
	for i, test := range []struct {
		filter, host string
		routes       []string
		want         int64
	}{
		{"", "", []string{one}, 1},
		{"disabled: true", "", []string{one, all}, 0},
		{"disabled: true", "", []string{one + on, all}, 1},
		{"", off, []string{one, all}, 0},
		{"", off, []string{one, all + on}, 1},
		{"", "", []string{one + off, all + off}, 0},
		{"", "", []string{one + off, all}, 1},
		{"", on, []string{one + off, all + off}, 0},
		{"", "", []string{weighted(off, 1, off)}, 0},
		{"", "", []string{weighted(off, 1, off) + on}, 0},
		{"disabled: true", on, []string{weighted(off, 1, off) + on}, 0},
		{"", "", []string{weighted(off, 1, "")}, 1},
		{"", "", []string{weighted(off, 0, "")}, 0}, // no call goes to a cluster without weight
		{"", off, []string{weighted("", 1, off)}, 0},
		{"", "", []string{one + off, `match { prefix: "/q" } non_forwarding_action {} `}, 1}, // its calls pass the filters, and fail (A36)
		{"", "", []string{one + off, `match { prefix: "/q" } non_forwarding_action {} ` + off}, 0},
		{"", "", []string{one + off, `match { prefix: "/q" query_parameters { name: "a" } } route { cluster: "c" } `}, 0}, // ignored
	} {
		f := new(counted)
		env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()),
			xdsforge.WithTypes(func(r xdsforge.Registrar) { r.Extend(f.filter()) }))
		routes := ""
		for _, r := range test.routes {
			routes += "routes { " + r + "} "
		}
		name := fmt.Sprintf("svc%d", i)
		p.listener(name, fmt.Sprintf(`http_filters { name: "x" %s typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "a" } } }
			http_filters { name: "later" disabled: true typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "b" } } }
			route_config { name: "r" virtual_hosts { name: "h" domains: "*" %s %s } }`, test.filter, test.host, routes))
		if _, err := call(soon(t), newChannel(t, env, "xds:///"+name), "/p.S/M"); status.Code(err) != codes.OK {
			t.Errorf("listener %q, host %q, routes %q: %v", test.filter, test.host, test.routes, err)
		}
		if n := f.instances.Load(); n != test.want {
			t.Errorf("listener %q, host %q, routes %q: %d instances; want %d", test.filter, test.host, test.routes, n, test.want)
		}
		if name := f.host.Load(); name != nil && name != "x" {
			t.Errorf("the instance of x has the name %q", name)
		}
	}
}
