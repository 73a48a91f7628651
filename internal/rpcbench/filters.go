package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"text/tabwriter"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"  // for prototext
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// The channels of -filters. The filter and the interceptor count messages, or handle the cookie of a session.
const (
	withCounter       = oursName + ", interceptor that counts"
	withCounterFilter = oursName + ", filter that counts"
	withCookie        = oursName + ", interceptor with a cookie"
	withAffinity      = oursName + ", filter with a cookie"
)

// filterTargets publishes the targets of filters beside "svc".
func filterTargets(plane *controlplane.Server, authz, proc string) error {
	listen := func(name, filter string) error {
		return plane.SetText(name, new(listenerv3.Listener), `name: %q api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				http_filters { name: "f" typed_config { %s } }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
				route_config { virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "c" } } } } } } }`, name, filter)
	}
	return errors.Join(
		listen("counted", `[type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "type.googleapis.com/bench.Counter" }`),
		listen("authorized", authzFilter(authz)),
		listen("processed", procFilter(proc, "")),
		listen("messages", procFilter(proc, "request_body_mode: GRPC response_body_mode: GRPC response_trailer_mode: SEND")),
		listen("affinity", `[type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession] { session_state { typed_config {
			[type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState] { cookie { name: "bench" } } } } }`),
	)
}

// A counter counts the messages of calls.
type counter struct{ sent, received atomic.Int64 }

// NewStream implements [httpfilter.ClientInterceptor].
func (c *counter) NewStream(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	s, err := next(ctx)
	if err != nil {
		return nil, err
	}
	return &countedStream{s, c}, nil
}

func (c *counter) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c.sent.Add(1)
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil {
		c.received.Add(1)
	}
	return err
}

func (c *counter) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &countedStream{s, c}, nil
}

type countedStream struct {
	grpc.ClientStream
	*counter
}

// SendMsg implements [grpc.ClientStream].
func (s *countedStream) SendMsg(m any) error {
	s.sent.Add(1)
	return s.ClientStream.SendMsg(m)
}

// RecvMsg implements [grpc.ClientStream].
func (s *countedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.received.Add(1)
	}
	return err
}

// counting registers the filter that counts.
func counting(r xdsforge.Registrar) {
	r.Extend(&httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "bench.Counter", Sides: resource.ClientSide,
			Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return nil, nil }, //nolint:nilnil // no settings
		},
		NewClient: httpfilter.ClientFunc(func(any, any) (httpfilter.ClientInterceptor, error) { return new(counter), nil }),
	})
}

// cookieUnary decodes the cookie of a call, and compares it with that of the response, without sending the call to the
// endpoint that the cookie names.
func cookieUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	md, _ := metadata.FromOutgoingContext(ctx)
	endpoint := endpointOf(md)
	var header metadata.MD
	err := invoke(ctx, method, req, reply, cc, append(opts, grpc.Header(&header))...)
	if endpoint == "" && header != nil {
		header.Append("set-cookie", "bench="+base64.StdEncoding.EncodeToString([]byte(method)))
	}
	return err
}

func cookieStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	md, _ := metadata.FromOutgoingContext(ctx)
	s, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &cookedStream{s, endpointOf(md)}, nil
}

type cookedStream struct {
	grpc.ClientStream
	endpoint string
}

// Header implements [grpc.ClientStream].
func (s *cookedStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err == nil && s.endpoint == "" {
		md.Append("set-cookie", "bench=")
	}
	return md, err
}

// endpointOf returns the decoded cookie, or "".
func endpointOf(md metadata.MD) string {
	for _, h := range md["cookie"] {
		if text, ok := strings.CutPrefix(h, "bench="); ok {
			b, _ := base64.StdEncoding.DecodeString(text)
			return string(b)
		}
	}
	return ""
}

// dialFilters makes the channels.
func dialFilters(at Addresses) (all []*subject, err error) {
	authz, err := newChecker(at.Authz)
	if err != nil {
		return nil, err
	}
	proc, err := newProcessing(at.Proc)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name, target string
		settings     []xdsforge.Option
		opts         []grpc.DialOption
	}{
		{oursName, "svc", nil, nil},
		{withCounter, "svc", nil, []grpc.DialOption{grpc.WithChainUnaryInterceptor(new(counter).unary), grpc.WithChainStreamInterceptor(new(counter).stream)}},
		{withCounterFilter, "counted", []xdsforge.Option{xdsforge.WithTypes(counting)}, nil},
		{withCheck, "svc", nil, []grpc.DialOption{grpc.WithChainUnaryInterceptor(authz.unary), grpc.WithChainStreamInterceptor(authz.stream)}},
		{withAuthz, "authorized", nil, nil},
		{withProcess, "svc", nil, []grpc.DialOption{grpc.WithChainUnaryInterceptor(proc.unary), grpc.WithChainStreamInterceptor(proc.stream)}},
		{withExtProc, "processed", nil, nil},
		{withMessages, "messages", nil, nil},
		{withCookie, "svc", nil, []grpc.DialOption{grpc.WithChainUnaryInterceptor(cookieUnary), grpc.WithChainStreamInterceptor(cookieStream)}},
		{withAffinity, "affinity", nil, nil},
	} {
		cc, err := dialOurs(at, "xds:///"+c.target, c.settings, c.opts...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		all = append(all, &subject{c.name, cc})
	}
	return all, nil
}

// cookieOf makes the first call of a session, and returns a context for others.
func cookieOf(ctx context.Context, cc *grpc.ClientConn) (context.Context, error) {
	var header metadata.MD
	if _, err := testpb.NewTestServiceClient(cc).EmptyCall(ctx, &testpb.Empty{}, grpc.Header(&header)); err != nil {
		return nil, err
	}
	set := header["set-cookie"]
	if len(set) != 1 {
		return nil, fmt.Errorf("the first call of a session sets the cookies %q; want one", set)
	}
	cookie, _, _ := strings.Cut(set[0], ";")
	return metadata.AppendToOutgoingContext(ctx, "cookie", cookie), nil
}

// filters prints the cost of filters that see messages, beside interceptors that do the same.
func filters(ctx context.Context, pairs, calls int) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	subjects, err := dialFilters(s.Addresses)
	if err != nil {
		return err
	}
	if ctx, err = cookieOf(ctx, subjects[len(subjects)-1].cc); err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "\tchannel\tcalls/s\tµs of CPU\tallocations\tbytes\t\n")
	for _, k := range []kind{{"unary", unary}, {"stream", stream}} {
		turns, err := alternate(ctx, subjects, k, pairs, calls)
		if err != nil {
			return err
		}
		for _, s := range subjects {
			t := turns[s.name]
			fmt.Fprintf(out, "%s\t%s\t%.0f\t%.1f\t%.1f\t%.0f\t\n", k.name, s.name,
				1/medianOf(t, wall), 1e6*medianOf(t, cpu), medianOf(t, allocs), medianOf(t, bytes))
		}
	}
	return out.Flush()
}
