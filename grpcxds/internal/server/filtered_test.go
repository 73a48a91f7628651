package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A spy is a filter that an Int32Value configures. Its interceptors see messages.
type spy struct {
	handle func(ctx context.Context, ss grpc.ServerStream, next httpfilter.ServerNext) error

	mu     sync.Mutex
	events []string

	instances, interceptors, misuse atomic.Int64
}

func (s *spy) add(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

func (s *spy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}

func (s *spy) filter() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "google.protobuf.Int32Value", Sides: resource.ServerSide,
			Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return "config", nil },
		},
		NewServer: func(httpfilter.Host) (httpfilter.ServerInstance, error) {
			s.instances.Add(1)
			return &spyInstance{s}, nil
		},
	}
}

type spyInstance struct{ *spy }

func (i *spyInstance) Interceptor(_, _ any) (httpfilter.ServerInterceptor, error) {
	i.interceptors.Add(1)
	return &spyInterceptor{spy: i.spy}, nil
}

func (i *spyInstance) Close() { i.instances.Add(-1) }

type spyInterceptor struct {
	*spy
	ended atomic.Bool
}

func (i *spyInterceptor) Close() {
	i.interceptors.Add(-1)
	i.ended.Store(true)
}

func (i *spyInterceptor) Handle(ctx context.Context, call *httpfilter.ServerCall, ss grpc.ServerStream, next httpfilter.ServerNext) error {
	if i.ended.Load() {
		i.misuse.Add(1)
	}
	call.OnDone(func(err error) {
		if i.ended.Load() {
			i.misuse.Add(1)
		}
		i.add("done " + status.Code(err).String())
	})
	if i.handle != nil {
		return i.handle(ctx, ss, next)
	}
	err := next(ctx, &spyStream{ss, i.spy})
	if status.Code(err) == codes.Aborted {
		return status.Error(codes.DataLoss, "changed")
	}
	return err
}

// A spyStream appends "+" to requests, replaces responses by ones with "-", and renames headers and trailers.
type spyStream struct {
	grpc.ServerStream
	spy *spy
}

func (s *spyStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if v, ok := m.(*wrapperspb.StringValue); ok && err == nil {
		s.spy.add("receive " + v.GetValue())
		v.Value += "+"
	}
	return err
}

func (s *spyStream) SendMsg(m any) error {
	v := m.(*wrapperspb.StringValue).GetValue()
	s.spy.add("send " + v)
	return s.ServerStream.SendMsg(wrapperspb.String(v + "-"))
}

func renamed(md metadata.MD) metadata.MD {
	out := metadata.MD{}
	for k, v := range md {
		out["filtered-"+k] = v
	}
	return out
}

func (s *spyStream) SetHeader(md metadata.MD) error { return s.ServerStream.SetHeader(renamed(md)) }

func (s *spyStream) SendHeader(md metadata.MD) error { return s.ServerStream.SendHeader(renamed(md)) }
func (s *spyStream) SetTrailer(md metadata.MD)       { s.ServerStream.SetTrailer(renamed(md)) }

// respond is the handler of unary calls and streams. It sets headers and trailers by the context.
func respond(ctx context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	if err := errors.Join(grpc.SetHeader(ctx, metadata.Pairs("set", "1")), grpc.SendHeader(ctx, metadata.Pairs("sent", "1")), grpc.SetTrailer(ctx, metadata.Pairs("end", "1"))); err != nil {
		return nil, err
	}
	if in.GetValue() == "abort+" {
		return nil, status.Error(codes.Aborted, "no")
	}
	return wrapperspb.String("[" + in.GetValue() + "]"), nil
}

// service is a service with a unary method and a stream.
var service = grpc.ServiceDesc{
	ServiceName: "p.S", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(srv any, ctx context.Context, dec func(any) error, i grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.StringValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		return i(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/p.S/Unary"}, func(ctx context.Context, req any) (any, error) {
			return respond(ctx, req.(*wrapperspb.StringValue))
		})
	}}},
	Streams: []grpc.StreamDesc{{StreamName: "Stream", ClientStreams: true, ServerStreams: true, Handler: func(_ any, ss grpc.ServerStream) error {
		in := new(wrapperspb.StringValue)
		if err := ss.RecvMsg(in); err != nil {
			return err
		}
		out, err := respond(ss.Context(), in)
		if err != nil {
			return err
		}
		return ss.SendMsg(out)
	}}},
}

// A filtered is a chainServer in memory, and a channel to it.
type filteredServer struct {
	*testing.T
	backend *backend
	update  *listener.Update
	chain   *chainServer
	cc      *grpc.ClientConn
}

func newFilteredServer(t *testing.T, s *spy) *filteredServer {
	t.Helper()
	f := s.filter()
	chains, err := filterchain.New([]httpfilter.Filter{{HTTPFilter: router.Filter()}, f})
	check(t, err)
	w := &filteredServer{T: t, backend: &backend{config: &Config{Chains: chains, Config: server.Config{Logger: slog.New(slog.DiscardHandler)}}}}
	w.update = plugincase.Read[*listener.Update](t, listener.Type(), new(listenerv3.Listener), `name: "l"
		address { socket_address { address: "127.0.0.1" port_value: 80 } }
		filter_chains { name: "c" `+hcm+`route_config { virtual_hosts { domains: "*"
			routes { match { path: "/p.S/Forwarded" } route { cluster: "c" } }
			routes { match { prefix: "/" } non_forwarding_action {} } } }
		http_filters { name: "spy" typed_config { [type.googleapis.com/google.protobuf.Int32Value] { value: 1 } } }`+routerEnd+` }`,
		plugincase.Extend(func(r resource.Registrar) { r.Extend(f.HTTPFilter) }))
	w.chain = &chainServer{logger: w.backend.config.Logger}
	w.chain.routing.Store(w.compile())
	lis := bufconn.Listen(1 << 16)
	g := grpc.NewServer(grpc.UnaryInterceptor(w.chain.unary), grpc.StreamInterceptor(w.chain.stream),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return status.Error(codes.Unimplemented, "") }))
	g.RegisterService(&service, nil)
	go func() { _ = g.Serve(lis) }()
	t.Cleanup(g.Stop)
	w.cc, err = grpc.NewClient("passthrough:///buf", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	check(t, err)
	t.Cleanup(func() { _ = w.cc.Close() })
	return w
}

func (w *filteredServer) compile() *routing {
	c := &w.update.FilterChains[0]
	u := c.Manager().Routes.(listener.Inline).Config.(*route.Update)
	return w.backend.Compile([]server.Routes{{FilterChain: c, Filters: c.Manager().Filters, Update: u}}, new(server.Problems))[0]
}

func (w *filteredServer) unary(text string, opts ...grpc.CallOption) (string, error) {
	out := new(wrapperspb.StringValue)
	err := w.cc.Invoke(w.Context(), "/p.S/Unary", wrapperspb.String(text), out, opts...)
	return out.GetValue(), err
}

func (w *filteredServer) stream(text string, opts ...grpc.CallOption) (string, error) {
	out := new(wrapperspb.StringValue)
	s, err := w.cc.NewStream(w.Context(), &service.Streams[0], "/p.S/Stream", opts...)
	if err != nil {
		return "", err
	}
	if err := errors.Join(s.SendMsg(wrapperspb.String(text)), s.CloseSend()); err != nil {
		return "", err
	}
	if err := s.RecvMsg(out); err != nil {
		return "", err
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		return "", err
	}
	return out.GetValue(), nil
}

func (w *filteredServer) both(test func(name string, call func(string, ...grpc.CallOption) (string, error))) {
	test("unary", w.unary)
	test("stream", w.stream)
}

// wantEvents waits for the end of a call, which the client may see before the filters do.
func (w *filteredServer) wantEvents(s *spy, name string, want ...string) {
	w.Helper()
	var got []string
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	for len(got) < len(want) && ctx.Err() == nil {
		got = append(got, s.take()...)
		<-time.NewTimer(time.Millisecond).C
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: the filter has the events %q; want %q", name, got, want)
	}
}

// A filter of a server sees and changes messages, headers, trailers and the status, of unary calls and streams.
func TestFilterSeesMessages(t *testing.T) {
	s := new(spy)
	w := newFilteredServer(t, s)
	w.both(func(name string, call func(string, ...grpc.CallOption) (string, error)) {
		var header, trailer metadata.MD
		got, err := call("a", grpc.Header(&header), grpc.Trailer(&trailer))
		if got != "[a+]-" || err != nil {
			t.Errorf("%s: the response is %q, %v; want %q", name, got, err, "[a+]-")
		}
		if len(header["filtered-set"])+len(header["filtered-sent"]) != 2 || len(trailer["filtered-end"]) != 1 || len(header["set"])+len(trailer["end"]) > 0 {
			t.Errorf("%s: header %v, trailer %v; want those of the handler through the filter", name, header, trailer)
		}
		w.wantEvents(s, name, "receive a", "send [a+]", "done OK")
		if _, err := call("abort"); status.Code(err) != codes.DataLoss {
			t.Errorf("%s: the call ends with %v; want the status of the filter, DATA_LOSS", name, err)
		}
		w.wantEvents(s, name, "receive abort", "done DataLoss")
	})
}

// A route that is not for servers fails after its filters, also if they see messages.
func TestFiltersOfAnUnusableRoute(t *testing.T) {
	s := new(spy)
	w := newFilteredServer(t, s)
	err := w.cc.Invoke(t.Context(), "/p.S/Forwarded", new(emptypb.Empty), new(emptypb.Empty))
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the call ends with %v; want UNAVAILABLE", err)
	}
	w.wantEvents(s, "forwarded", "done Unavailable")
}

// Filters that break their contract end a unary call with INTERNAL, and those without a status with UNKNOWN.
func TestFilterBreaksItsContract(t *testing.T) {
	s := new(spy)
	w := newFilteredServer(t, s)
	for name, test := range map[string]struct {
		handle func(ctx context.Context, ss grpc.ServerStream, next httpfilter.ServerNext) error
		want   codes.Code
	}{
		"no handler":  {func(context.Context, grpc.ServerStream, httpfilter.ServerNext) error { return nil }, codes.Internal},
		"plain error": {func(context.Context, grpc.ServerStream, httpfilter.ServerNext) error { return errors.New("no") }, codes.Unknown},
		"next twice": {func(ctx context.Context, ss grpc.ServerStream, next httpfilter.ServerNext) error {
			if err := next(ctx, ss); err != nil {
				return err
			}
			return next(ctx, ss)
		}, codes.Internal},
		"two responses": {func(ctx context.Context, ss grpc.ServerStream, next httpfilter.ServerNext) error {
			if err := next(ctx, ss); err != nil {
				return err
			}
			return ss.SendMsg(wrapperspb.String("another"))
		}, codes.Internal},
		"request of another type": {func(_ context.Context, ss grpc.ServerStream, _ httpfilter.ServerNext) error {
			return ss.RecvMsg(new(wrapperspb.Int64Value))
		}, codes.Internal},
		"request of an unknown type": {func(_ context.Context, ss grpc.ServerStream, _ httpfilter.ServerNext) error {
			m, want := new(emptypb.Empty), new(wrapperspb.StringValue)
			if err := ss.RecvMsg(m); err != nil {
				return err
			}
			if err := proto.Unmarshal(m.ProtoReflect().GetUnknown(), want); err != nil || want.GetValue() != "a" {
				return status.Errorf(codes.DataLoss, "%v, %v", want, err)
			}
			return status.Error(codes.NotFound, "the unknown fields are the bytes")
		}, codes.NotFound},
		"two requests": {func(ctx context.Context, ss grpc.ServerStream, next httpfilter.ServerNext) error {
			copied := new(wrapperspb.StringValue)
			if err := ss.RecvMsg(copied); err != nil || copied.GetValue() != "a" {
				return status.Errorf(codes.DataLoss, "%v, %v", copied, err)
			}
			if err := next(ctx, ss); errors.Is(err, io.EOF) {
				return status.Error(codes.NotFound, "the handler receives the end")
			}
			return nil
		}, codes.NotFound},
	} {
		s.handle = test.handle
		if _, err := w.unary("a"); status.Code(err) != test.want {
			t.Errorf("%s: the call ends with %v; want %v", name, err, test.want)
		}
		w.wantEvents(s, name, "done "+test.want.String())
	}
}

// A goroutine of a filter may send a message after the end of a unary call. The message has no effect.
func TestMessageAfterTheEnd(t *testing.T) {
	s, late := new(spy), make(chan grpc.ServerStream, 1)
	s.handle = func(_ context.Context, ss grpc.ServerStream, _ httpfilter.ServerNext) error {
		late <- ss
		return nil
	}
	if _, err := newFilteredServer(t, s).unary("a"); status.Code(err) != codes.Internal {
		t.Errorf("the call ends with %v; want INTERNAL, because it has no message", err)
	}
	if err := (<-late).SendMsg(wrapperspb.String("b")); status.Code(err) != codes.Canceled {
		t.Errorf("a message after the end: %v; want CANCELLED", err)
	}
}

// While updates replace the routes under calls, no call has a filter that is closed. At the end, none is open, and
// later calls fail.
func TestUpdatesUnderFilteredCalls(t *testing.T) {
	s := new(spy)
	w := newFilteredServer(t, s)
	var stop atomic.Bool
	var calls, failed atomic.Int64
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for !stop.Load() {
				call := w.unary
				if i%2 == 0 {
					call = w.stream
				}
				if _, err := call("a"); err != nil {
					failed.Add(1)
				}
				calls.Add(1)
			}
		})
	}
	for i := 0; i < 10_000 || calls.Load() < 8; i++ {
		w.chain.routing.Swap(w.compile()).Release()
	}
	stop.Store(true)
	callers.Wait()
	w.chain.routing.Load().Release()
	if failed.Load() > 0 || s.misuse.Load() > 0 {
		t.Errorf("of %d calls %d failed and %d used a closed filter; want none", calls.Load(), failed.Load(), s.misuse.Load())
	}
	if _, err := w.unary("a"); status.Code(err) != codes.Unavailable {
		t.Errorf("a call after the end: %v; want UNAVAILABLE", err)
	}
	w.cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for s.instances.Load()+s.interceptors.Load() > 0 { // until the last handlers have returned
		select {
		case <-ctx.Done():
			t.Fatalf("%d instances and %d interceptors are open; want none", s.instances.Load(), s.interceptors.Load())
		case <-time.NewTimer(time.Millisecond).C:
		}
	}
}
