package routing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds/internal/routing"
	"github.com/xdsforge/xdsforge/internal/plugincase"
)

// dropped counts the calls that load balancing dropped.
var dropped atomic.Int64

func TestRoutes(t *testing.T) {
	w := newWorld(t)
	w.route(`
		routes { match { path: "/p.S/A" } route { cluster: "a" } }
		routes { match { prefix: "/p.S/" headers { name: "x" string_match { exact: "1,2" } } } route { cluster: "b" } }
		routes { match { prefix: "/p.S/" headers { name: "content-type" string_match { exact: "application/grpc" } } headers { name: "y" present_match: true } } route { cluster: "c" } }
		routes { match { prefix: "/p.S/" headers { name: "z-bin" present_match: true } } route { cluster: "b" } }
		routes { match { prefix: "/p.S/N" } non_forwarding_action {} }
		routes { match { prefix: "/p.S/R" } redirect { host_redirect: "elsewhere" } }
		routes { match { prefix: "/p.S/Q" query_parameters { name: "q" present_match: true } } route { cluster: "b" } }
		routes { match { safe_regex { regex: "/p.S/[ABQZ].*" } } route { cluster: "a" } }`)
	for _, test := range []struct {
		method  string
		headers []string
		want    string
	}{
		{"/p.S/A", []string{"x", "1", "x", "2"}, "a"},
		{"/p.S/B", nil, "a"},
		{"/p.S/B", []string{"x", "1"}, "a"},
		{"/p.S/B", []string{"X", "1", "x", "2"}, "b"},
		{"/p.S/B", []string{"y", ""}, "c"},
		{"/p.S/Z", []string{"z-bin", "1"}, "a"},
		{"/p.S/Q", nil, "a"},
		{"/p.S/C", nil, `Unavailable: grpcxds: target "xds:///svc", authority "svc": RouteConfiguration "l": cannot route the call: no route of virtual host "h" takes /p.S/C [server xds.test:443, node n]`},
		{"/p.S/N", nil, `Unavailable: grpcxds: target "xds:///svc", authority "svc": RouteConfiguration "l": cannot route the call: virtual host "h": route "": its action, non_forwarding_action, is for servers (A36) [server xds.test:443, node n]`},
		{"/p.S/R", nil, `Unavailable: grpcxds: target "xds:///svc", authority "svc": RouteConfiguration "l": cannot route the call: virtual host "h": route "": unsupported route action (A36) [server xds.test:443, node n]`},
	} {
		w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
			got, err := call(metadata.AppendToOutgoingContext(soon(t), test.headers...), test.method)
			if err != nil {
				got = fmt.Sprintf("%v: %s", status.Code(err), status.Convert(err).Message())
			}
			if got != test.want {
				t.Errorf("%s with %q:\n%s, want\n%s", test.method, test.headers, got, test.want)
			}
		})
	}
}

// The channel routes a call after the changes of other interceptors.
func TestInnermost(t *testing.T) {
	w := newWorld(t, grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoker(metadata.AppendToOutgoingContext(ctx, "added", "1"), method+"/Other", req, reply, cc, opts...)
	}))
	w.route(`routes { match { path: "/p.S/M/Other" headers { name: "added" present_match: true } } route { cluster: "b" } }`)
	if got, err := w.call(soon(t), "/p.S/M"); got != "b" {
		t.Errorf("%q, %v", got, err)
	}
}

// The shares are within five standard deviations.
func TestShares(t *testing.T) {
	w := newWorld(t)
	w.route(`
		routes { match { prefix: "" runtime_fraction { default_value { numerator: 50 } } } route { cluster: "c" } }
		routes { match { prefix: "" } route { weighted_clusters { clusters { name: "a" weight { value: 80 } } clusters { name: "b" weight { value: 20 } } } } }`)
	const n = 1000
	for range n {
		if _, err := w.call(soon(t), "/p.S/M"); err != nil {
			t.Fatal(err)
		}
	}
	// n = 1000: sigmas are 15.8, 15.5 and 9.5.
	got := w.took()
	for name, bounds := range map[string][2]int{"c": {421, 579}, "a": {322, 478}, "b": {52, 148}} {
		if got[name] < bounds[0] || got[name] > bounds[1] {
			t.Errorf("%s took %d of %d calls; want %v", name, got[name], n, bounds)
		}
	}
}

func TestTimeouts(t *testing.T) {
	w := newWorld(t)
	left := make(chan time.Duration, 1)
	w.handler(func(_ string, s grpc.ServerStream) error {
		deadline, ok := s.Context().Deadline()
		d := time.Duration(-1)
		if ok {
			d = time.Until(deadline)
		}
		left <- d
		_ = s.RecvMsg(new(wrapperspb.StringValue))
		return s.SendMsg(wrapperspb.String(""))
	})
	const hcm, action = `common_http_protocol_options { max_stream_duration { seconds: 300 } }`, `max_stream_duration { max_stream_duration { seconds: 200 } }`
	for _, test := range []struct {
		manager, route string
		own, want      time.Duration // 0: none
	}{
		{"", "", 0, 0},
		{"", "", 500 * time.Second, 500 * time.Second},
		{hcm, "", 0, 300 * time.Second},
		{hcm, "", 100 * time.Second, 100 * time.Second},
		{hcm, action, 0, 200 * time.Second},
		{hcm, action, 500 * time.Second, 200 * time.Second},
		{hcm, `max_stream_duration { max_stream_duration {} }`, 0, 0},
		{hcm, `max_stream_duration { max_stream_duration { seconds: 200 } grpc_timeout_header_max { seconds: 400 } }`, 0, 400 * time.Second},
		{hcm, `max_stream_duration { max_stream_duration { seconds: 200 } grpc_timeout_header_max { seconds: 400 } }`, 500 * time.Second, 400 * time.Second},
		{hcm, `max_stream_duration { max_stream_duration { seconds: 200 } grpc_timeout_header_max {} }`, 500 * time.Second, 500 * time.Second},
	} {
		w.manage(test.manager, `routes { match { prefix: "" } route { cluster: "a" `+test.route+` } }`)
		w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
			ctx := context.WithoutCancel(t.Context())
			if test.own > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.own)
				defer cancel()
			}
			if _, err := call(ctx, "/p.S/M"); err != nil {
				t.Error(err)
			}
			if got := <-left; test.want == 0 && got >= 0 || test.want > 0 && (got > test.want || got < test.want-20*time.Second) {
				t.Errorf("%s, %s, own deadline %v: %v are left, want %v", test.manager, test.route, test.own, got, test.want)
			}
		})
	}
	w.manage("", `routes { match { prefix: "" } route { cluster: "none" max_stream_duration { max_stream_duration { nanos: 1000000 } } } }`)
	if _, err := w.call(soon(t), "/p.S/M", grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("after its time: %v", err)
	}
}

// The channel rewrites authorities if the server is trusted. The call's own authority has
// precedence (A81).
func TestAuthority(t *testing.T) {
	const routes = `routes { match { prefix: "" } route { cluster: "a" auto_host_rewrite { value: true } } }`
	w := newWorld(t)
	w.handler(func(_ string, s grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		_ = s.RecvMsg(new(wrapperspb.StringValue))
		return s.SendMsg(wrapperspb.String(strings.Join(md[":authority"], ",")))
	})
	check := func(want string, opts ...grpc.CallOption) {
		t.Helper()
		if got, err := w.call(soon(t), "/p.S/M", opts...); got != want {
			t.Errorf("the authority is %q, %v; want %q", got, err, want)
		}
	}
	w.route(routes)
	check("a") // the authority of the address, as in grpc-go
	w.route(routes, plugincase.Trusted())
	check("rewritten")
	check("mine", grpc.CallAuthority("mine"))
	const literal = `routes { match { prefix: "" } route { cluster: "a" host_rewrite_literal: "proxy.example" } }`
	w.route(literal)
	check("a") // the server is not trusted
	w.route(literal, plugincase.Trusted())
	check("proxy.example")
	check("mine", grpc.CallAuthority("mine"))
}

func TestWaiting(t *testing.T) {
	w := newWorld(t)
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		const routes = `routes { match { prefix: "" } route { cluster: "a" } }`
		w.channel.Set(nil, nil)
		results := make(chan error, 2)
		start := func(opts ...grpc.CallOption) {
			go func() {
				_, err := call(soon(t), "/p.S/M", opts...)
				results <- err
			}()
		}
		start()
		w.channel.Set(nil, nil) // no news
		w.route(routes)
		if err := <-results; err != nil {
			t.Errorf("a call that has waited: %v", err)
		}
		w.channel.Set(nil, errors.New("no routes"))
		start(grpc.WaitForReady(true))
		start()
		if err := <-results; status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no routes") {
			t.Errorf("a call that does not wait: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := call(ctx, "/p.S/M", grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "no routes") {
			t.Errorf("a call that waits too long: %v", err)
		}
		w.route(routes)
		if err := <-results; err != nil {
			t.Errorf("a call that has waited for another configuration: %v", err)
		}
		w.channel.Set(nil, errors.New("no routes"))
		start(grpc.WaitForReady(true))
		w.channel.Fail(errors.New("never"))
		if err := <-results; status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "never") {
			t.Errorf("a call that waits for a missing resource: %v", err)
		}
		w.channel.Set(nil, nil)
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := w.call(ctx, "/p.S/M"); status.Code(err) != codes.Canceled {
		t.Errorf("a call that is cancelled: %v", err)
	}
	closed := make(chan error)
	go func() {
		_, err := w.call(soon(t), "/p.S/M")
		closed <- err
	}()
	_ = w.cc.Close()
	w.channel.Set(nil, nil) // as the resolver does when it is closed
	if err := <-closed; status.Code(err) != codes.Canceled {
		t.Errorf("a call on a channel that is closed: %v", err)
	}
}

func TestOneChannelAtATime(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	const routes = `routes { match { prefix: "" } route { cluster: "a" } }`
	w.route(routes)
	if _, err := w.call(soon(t), "/p.S/M"); err != nil {
		t.Fatal(err)
	}
	invoke := func() error {
		return w.channel.Unary(soon(t), "/p.S/M", wrapperspb.String(""), new(wrapperspb.StringValue), other.cc,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil })
	}
	if err := invoke(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), routing.ErrInUse.Error()) {
		t.Errorf("another channel: %v", err)
	}
	_ = w.cc.Close()
	if err := invoke(); err != nil {
		t.Errorf("another channel, after the first: %v", err)
	}
}

// Both route tables and calls in flight to a cluster keep subscriptions to it.
func TestHolding(t *testing.T) {
	w := newWorld(t)
	h := &subscriber{held: make(map[string]int)}
	w.channel.SetSubscriber(h)
	check := func(why, want string) {
		t.Helper()
		if got := h.String(); got != want {
			t.Errorf("%s: %s are held, want %s", why, got, want)
		}
	}
	w.route(`routes { match { prefix: "" } route { cluster: "a" } }`)
	check("a table", "a")
	s, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	w.route(`routes { match { prefix: "" } route { weighted_clusters { clusters { name: "b" weight { value: 1 } } clusters { name: "c" weight { value: 1 } } } } }`)
	check("a call in flight", "a b c")
	w.channel.Set(nil, nil)
	check("no table", "a")
	next := &subscriber{held: make(map[string]int)}
	w.channel.SetSubscriber(next)
	h = next
	check("another subscriber", "a")
	if err := s.SendMsg(wrapperspb.String("")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err = s.RecvMsg(new(wrapperspb.StringValue))
	}
	check(fmt.Sprintf("the call has ended (%v)", err), "")

	w.route(`routes { match { prefix: "" } route { cluster: "a" } }`)
	ctx, cancel := context.WithCancel(t.Context())
	if s, err = w.open(ctx, "/p.S/M"); err != nil {
		t.Fatal(err)
	}
	w.channel.Set(nil, nil)
	check("a call in flight", "a")
	cancel()
	_ = s.RecvMsg(nil)
	check("the call is cancelled", "")
	w.route(`routes { match { prefix: "" } route { cluster: "a" } }`)
	if _, err := w.call(ctx, "/p.S/M"); err == nil {
		t.Error("a cancelled context")
	}
	if _, err := w.stream(ctx, "/p.S/M"); err == nil {
		t.Error("a cancelled context")
	}
	w.channel.Set(nil, nil)
	check("calls that did not begin", "")
}

// A configuration that differs only by new clusters needs no new table.
func TestIsFor(t *testing.T) {
	w := newWorld(t)
	const routes = `virtual_hosts { domains: "svc" routes { match { prefix: "" } route { cluster: "a" } } }`
	c := w.config("", routes)
	table := w.channel.Compile(c, w.settings())
	w.channel.Set(table, nil)
	same := *c
	same.Targets = []string{"a", "b"}
	if !table.IsFor(&same) {
		t.Error("another table for other clusters")
	}
	if table.IsFor(w.config("", routes)) || (*routing.Table)(nil).IsFor(c) {
		t.Error("no other table for another route")
	}
}
