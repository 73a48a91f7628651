package grpcxds

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A diary is a filter whose instances record their events. A StringValue configures it.
type diary struct {
	mu     sync.Mutex
	count  int
	events []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, fmt.Sprintf(format, args...))
}

func (d *diary) has(want ...string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Equal(d.events, want)
}

// created returns the events of new instances.
func (d *diary) created() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(slices.DeleteFunc(slices.Clone(d.events), func(e string) bool { return !strings.HasPrefix(e, "create") }), ", ")
}

func (d *diary) register(r xdsforge.Registrar) {
	r.Extend(&httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "google.protobuf.StringValue", Override: "google.protobuf.BoolValue", Sides: resource.ServerSide,
			Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
				var v wrapperspb.StringValue
				err := c.Unmarshal(&v)
				return v.GetValue(), err
			},
			ParseOverride: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return true, nil },
		},
		NewServer: func(h httpfilter.Host) (httpfilter.ServerInstance, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.count++
			d.events = append(d.events, fmt.Sprintf("create %d of %s", d.count, h.Name))
			return &diarist{d, d.count}, nil
		},
	})
}

type diarist struct {
	*diary
	number int
}

func (d *diarist) Interceptor(config, _ any) (httpfilter.ServerInterceptor, error) {
	d.add("%d reads %s", d.number, config)
	return httpfilter.ServerBefore(func(ctx context.Context, _ *httpfilter.ServerCall) (context.Context, error) { return ctx, nil }), nil
}

func (d *diarist) Close() { d.add("close %d", d.number) }

// The instance of a filter survives a change of its configuration in a named filter chain. In an unnamed one, it
// survives changes of routes. It is closed when no Listener uses it, and when the server stops.
func TestInstancesOfAServer(t *testing.T) {
	var d diary
	w := newWorld(t, xdsforge.WithTypes(d.register))
	s := w.serve()
	want := func(step string, events ...string) {
		t.Helper()
		s.eventually(fmt.Sprintf("%s: the events are %q", step, events), func() bool { return d.has(events...) })
	}
	publish := func(chain, text string) {
		w.publishListener(fmt.Sprintf(`name: %q address { socket_address { address: "127.0.0.1" port_value: %d } }
			filter_chains { %s %s }`, s.name, s.port, chain, network(marked("diary", text)+rds("routes"))))
	}
	w.publishRoutes("routes", `virtual_hosts { domains: "*" `+anyRoute+` }`)
	publish(`name: "web"`, "a")
	want("first Listener", "create 1 of diary", "1 reads a")
	publish(`name: "web"`, "b")
	want("other configuration", "create 1 of diary", "1 reads a", "1 reads b")
	publish("", "c")
	want("unnamed filter chain", "create 1 of diary", "1 reads a", "1 reads b", "create 2 of diary", "2 reads c", "close 1")
	w.publishRoutes("routes", `virtual_hosts { domains: "other" `+anyRoute+` }`)
	want("other routes", "create 1 of diary", "1 reads a", "1 reads b", "create 2 of diary", "2 reads c", "close 1", "2 reads c")
	s.Stop()
	want("stopped", "create 1 of diary", "1 reads a", "1 reads b", "create 2 of diary", "2 reads c", "close 1", "2 reads c", "close 2")
}

// A server has instances only of filters that calls can reach: overrides of each virtual host or route may disable a filter that the
// Listener enables.
func TestInstancesOfReachedFilters(t *testing.T) {
	const (
		off    = `typed_per_filter_config { key: "x" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } } `
		on     = `typed_per_filter_config { key: "x" value { [type.googleapis.com/google.protobuf.BoolValue] { value: true } } } `
		all    = `match { prefix: "/" } non_forwarding_action {} `
		client = `match { prefix: "/q" } route { cluster: "c" } `
	)
	host := func(domain, overrides string, routes ...string) string {
		return fmt.Sprintf(`virtual_hosts { name: %q domains: %q %s routes { %s } } `, domain, domain, overrides, strings.Join(routes, "} routes { "))
	}
	for i, test := range []struct{ filter, hosts, want string }{
		{"", host("*", "", all), "create 1 of x"},
		{"disabled: true", host("*", "", all), ""},
		{"disabled: true", host("*", "", all+on), "create 1 of x"},
		{"disabled: true", host("*", on, all+off), ""},
		{"", host("*", off, all), ""},
		{"", host("*", off, all) + host("a", "", all+off), ""},
		{"", host("*", off, all) + host("a", "", all), "create 1 of x"},
		{"", host("*", off, client, all+on), "create 1 of x"},
		{"", host("*", on, client+off, all+off), ""},
		{"", host("*", "", client, all+off), "create 1 of x"},                                                              // its calls pass the filters, and fail (A36)
		{"", host("*", "", `match { prefix: "/q" query_parameters { name: "a" } } non_forwarding_action {}`, all+off), ""}, // ignored
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var d diary
			w := newWorld(t, xdsforge.WithTypes(d.register))
			s := w.serve()
			w.publishListener(s.listener(fmt.Sprintf(`http_filters { name: "x" %s typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "a" } } }
				http_filters { name: "later" disabled: true typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "b" } } }
				route_config { name: "r" %s }`, test.filter, test.hosts)))
			s.awaitServing()
			if st := s.call(s.dial()); st.Code() != codes.OK {
				t.Error(st)
			}
			if got := d.created(); got != test.want {
				t.Errorf("listener %q, %s: events %q; want %q", test.filter, test.hosts, got, test.want)
			}
		})
	}
}
