package grpcxds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// Which calls are taken (A36).
func TestCallsAreRouted(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	w.publishRoutes("routes", `
		virtual_hosts { domains: "served.example" name: "served"
			routes { match { path: "/grpc.testing.TestService/UnaryCall" } route { cluster: "c" } name: "forwarded" }
			routes { match { path: "/grpc.testing.TestService/UnimplementedCall" } redirect {} name: "redirected" }
			routes { match { prefix: "/grpc.testing." headers { name: "x-no" present_match: true } } route { cluster: "c" } }
			routes { match { prefix: "/grpc.testing." } non_forwarding_action {} } }
		virtual_hosts { domains: "*.example" name: "empty" }`)
	w.publishListener(s.listener(rds("routes")))
	s.awaitServing()
	for _, c := range []struct {
		authority, method string
		headers           []string
		code              codes.Code
		text              string
	}{
		{"served.example", "/grpc.testing.TestService/EmptyCall", nil, codes.OK, ""},
		{"SERVED.example", "/grpc.testing.TestService/EmptyCall", nil, codes.OK, ""},
		{"served.example", "/grpc.testing.TestService/EmptyCall", []string{"x-no", "1"}, codes.Unavailable, "not for servers"},
		{"served.example", "/grpc.testing.TestService/UnaryCall", nil, codes.Unavailable, `route "forwarded"`},
		{"served.example", "/grpc.testing.TestService/UnimplementedCall", nil, codes.Unavailable, `route "redirected"`},
		{"served.example", "/grpc.testing.Unknown/Method", nil, codes.Unimplemented, "unknown method"},
		{"served.example", "/grpc.other.Service/Method", nil, codes.Unavailable, `host "served" of`},
		{"other.example", "/grpc.testing.TestService/EmptyCall", nil, codes.Unavailable, `virtual host "empty"`},
		{"nobody", "/grpc.testing.TestService/EmptyCall", nil, codes.Unavailable, `no virtual host for the authority "nobody"`},
	} {
		cc := s.channel(grpc.WithAuthority(c.authority))
		ctx := metadata.AppendToOutgoingContext(s.ctx, c.headers...)
		err := cc.Invoke(ctx, c.method, &testpb.Empty{}, &testpb.Empty{})
		if st := status.Convert(err); st.Code() != c.code || !strings.Contains(st.Message(), c.text) {
			t.Errorf("unary %s %s %v: %v; want %v %q", c.authority, c.method, c.headers, st, c.code, c.text)
		}
		if st := status.Convert(err); c.code == codes.Unavailable && !strings.HasPrefix(st.Message(), "[xDS node id: web-1]: ") {
			t.Errorf("unary %s %s %v: %v; want the ID of the node, as grpc-go's servers have it", c.authority, c.method, c.headers, st)
		}
		if strings.HasSuffix(c.text, `ed"`) {
			continue // the service has no such streams
		}
		ss, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, strings.Replace(c.method, "EmptyCall", "FullDuplexCall", 1))
		if err == nil {
			_ = ss.CloseSend()
			err = ss.RecvMsg(&testpb.StreamingOutputCallResponse{})
		}
		if code := status.Code(err); code != c.code && (c.code != codes.OK || code != codes.Unknown) { // EOF
			t.Errorf("stream %s %s %v: %v; want %v", c.authority, c.method, c.headers, err, c.code)
		}
	}
}

// A connection gets the most specific filter chain. The server closes a connection without one.
func TestConnectionsHaveTheirChains(t *testing.T) {
	w := newWorld(t)
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := w.serveOn(lis, nil)
	chain := func(prefix, manager string) string {
		return fmt.Sprintf(`filter_chains { name: %q filter_chain_match { prefix_ranges { address_prefix: %q prefix_len { value: 32 } } } %s }`, prefix, prefix, network(manager))
	}
	port := strings.Split(lis.Addr().String(), "]:")[1]
	s.name = "server/" + lis.Addr().String()
	text := `name: "` + s.name + `" address { socket_address { address: "::" port_value: ` + port + ` } }` +
		chain("127.0.0.2", inline(anyRoute)) + chain("127.0.0.3", rds("none"))
	w.publishRoutes("none", `virtual_hosts { domains: "nobody" }`)
	w.publishListener(text)
	s.awaitServing()
	at := func(host string) *site {
		return &site{world: w, Server: s.Server, addr: net.JoinHostPort(host, port)}
	}
	if st := s.call(at("127.0.0.2").dial()); st.Code() != codes.OK {
		t.Errorf("the first chain: %v", st)
	}
	if st := s.call(at("127.0.0.3").dial()); st.Code() != codes.Unavailable || !strings.Contains(st.Message(), "virtual host") {
		t.Errorf("the second chain: %v", st)
	}
	if !at("127.0.0.4").touch() {
		t.Error("a connection that no chain is for got bytes")
	}
	w.publishListener(text + ` default_filter_chain { ` + network(inline(anyRoute)) + ` }`)
	c := at("127.0.0.4").dial()
	w.eventually("the default chain is used", func() bool { return s.call(c).Code() == codes.OK })
	if st := s.call(at("127.0.0.3").dial()); st.Code() != codes.Unavailable || !strings.Contains(st.Message(), "virtual host") {
		t.Errorf("the second chain beside a default: %v", st)
	}
	if st := s.call(at("127.0.0.2").dial()); st.Code() != codes.OK { // every filter chain has the services
		t.Errorf("the first chain beside a default: %v", st)
	}
}

// marks is a filter that reports the calls and its configuration.
type marks struct {
	mu   sync.Mutex
	seen []string
}

func (m *marks) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.seen
	m.seen = nil
	return seen
}

func (m *marks) add(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, text)
}

// filter parses a StringValue. Its override has the same type.
func (m *marks) filter() httpfilter.Filter {
	read := func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
		var v wrapperspb.StringValue
		err := c.Unmarshal(&v)
		return v.GetValue(), err
	}
	const message = "google.protobuf.StringValue"
	return httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{Config: message, Override: message, Sides: resource.ServerSide, Parse: read, ParseOverride: read},
		NewServer: httpfilter.ServerFunc(func(config, override any) (httpfilter.ServerInterceptor, error) {
			if override == "bad" {
				return nil, errors.New("cannot be that")
			}
			if override != nil {
				config = override
			}
			return httpfilter.ServerBefore(mark{config.(string), m}.intercept), nil
		}),
	}
}

type mark struct {
	text  string
	marks *marks
}

type markKey struct{}

func (m mark) intercept(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
	m.marks.add("+" + m.text)
	call.OnDone(func(err error) { m.marks.add(fmt.Sprintf("-%s %v", m.text, status.Code(err))) })
	if len(call.Metadata.Get("deny")) > 0 {
		return nil, status.Error(codes.PermissionDenied, m.text+" denies "+call.Method)
	}
	before, _ := ctx.Value(markKey{}).(string)
	return context.WithValue(ctx, markKey{}, before+m.text), nil
}

func marked(name, value string) string {
	return fmt.Sprintf(`http_filters { name: %q typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: %q } } }`, name, value)
}

func override(name, value string) string {
	return fmt.Sprintf(`typed_per_filter_config { key: %q value { [type.googleapis.com/google.protobuf.StringValue] { value: %q } } }`, name, value)
}

// Filters run in order around all calls, with overrides of routes and virtual hosts.
func TestFiltersRun(t *testing.T) {
	var m marks
	w := newWorld(t, xdsforge.WithTypes(func(r xdsforge.Registrar) { r.Extend(m.filter()) }))
	seen := make(chan string, 10)
	note := func(ctx context.Context) {
		v, _ := ctx.Value(markKey{}).(string)
		seen <- v
	}
	s := w.serve(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			note(ctx)
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			note(ss.Context())
			return handler(srv, ss)
		}))
	w.publishRoutes("routes", `virtual_hosts { domains: "*" `+override("two", "host")+`
		routes { match { prefix: "/over." } non_forwarding_action {} `+override("one", "route")+` }
		routes { match { prefix: "/both." } non_forwarding_action {} `+override("two", "route")+` }
		routes { match { prefix: "/forwarded." } route { cluster: "c" } `+override("one", "route")+` }
		routes { match { prefix: "/bad." } non_forwarding_action {} `+override("two", "bad")+` }
		routes { match { prefix: "/" } non_forwarding_action {} } }
		virtual_hosts { domains: "plain" routes { match { prefix: "/forwarded." } redirect {} } `+anyRoute+` }`)
	w.publishListener(s.listener(marked("one", "1") + marked("two", "2") + rds("routes")))
	s.awaitServing()

	check := func(what string, err error, code codes.Code, context string, want ...string) {
		t.Helper()
		if status.Code(err) != code {
			t.Errorf("%s: %v; want %v", what, err, code)
		}
		if len(want) > 0 && code != codes.PermissionDenied && code != codes.Unavailable {
			if got := <-seen; got != context {
				t.Errorf("%s: handlers see %q; want %q", what, got, context)
			}
		}
		s.eventually(what+": the filters are done", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.seen) >= len(want)
		})
		if got := m.take(); !slices.Equal(got, want) {
			t.Errorf("%s: filters saw %q; want %q", what, got, want)
		}
	}
	cc := s.channel()
	invoke := func(ctx context.Context, cc *grpc.ClientConn, method string) error {
		return cc.Invoke(ctx, method, &testpb.Empty{}, &testpb.Empty{})
	}
	const empty = "/grpc.testing.TestService/EmptyCall"
	check("no override", invoke(s.ctx, s.channel(grpc.WithAuthority("plain")), empty), codes.OK, "12", "+1", "+2", "-2 OK", "-1 OK")
	check("of the host", invoke(s.ctx, cc, empty), codes.OK, "1host", "+1", "+host", "-host OK", "-1 OK")
	ss := s.openStream(testpb.NewTestServiceClient(cc))
	finish(t, ss)
	check("a stream", nil, codes.OK, "1host", "+1", "+host", "-host OK", "-1 OK")
	check("of the route", invoke(s.ctx, cc, "/over.A/B"), codes.Unimplemented, "routehost", "+route", "+host", "-host Unimplemented", "-route Unimplemented")
	check("of both", invoke(s.ctx, cc, "/both.A/B"), codes.Unimplemented, "1route", "+1", "+route", "-route Unimplemented", "-1 Unimplemented")
	check("a bad one", invoke(s.ctx, cc, "/bad.A/B"), codes.Unavailable, "")
	plain := s.channel(grpc.WithAuthority("plain"))
	check("a route of another action", invoke(s.ctx, cc, "/forwarded.A/B"), codes.Unavailable, "", "+route", "+host", "-host Unavailable", "-route Unavailable")
	check("another, without an override", invoke(s.ctx, plain, "/forwarded.A/B"), codes.Unavailable, "", "+1", "+2", "-2 Unavailable", "-1 Unavailable")
	denied := metadata.AppendToOutgoingContext(s.ctx, "deny", "1")
	check("denied", invoke(denied, cc, empty), codes.PermissionDenied, "", "+1", "-1 PermissionDenied")
	check("denied, by a route of another action", invoke(denied, plain, "/forwarded.A/B"), codes.PermissionDenied, "", "+1", "-1 PermissionDenied")
	dup, err := cc.NewStream(denied, &grpc.StreamDesc{ServerStreams: true}, "/grpc.testing.TestService/FullDuplexCall")
	if err == nil {
		err = dup.RecvMsg(&testpb.Empty{})
	}
	check("a stream that is denied", err, codes.PermissionDenied, "", "+1", "-1 PermissionDenied")
	check("an unknown method that is denied", invoke(denied, cc, "/no.Such/Method"), codes.PermissionDenied, "", "+1", "-1 PermissionDenied")
}

// RBAC (A41) works with credentials of other packages.
func TestRBACOfAListener(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	rules := `http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {
		rules { action: DENY policies { key: "mallory" value { permissions { any: true }
			principals { header { name: "user" string_match { exact: "mallory" } } } } } } } } }`
	w.publishListener(s.listener(rules + inline(anyRoute)))
	s.awaitServing()
	c := s.dial()
	if st := s.call(c); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
	_, err := c.EmptyCall(metadata.AppendToOutgoingContext(s.ctx, "user", "mallory"), &testpb.Empty{})
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("%v; want PERMISSION_DENIED", err)
	}
}
