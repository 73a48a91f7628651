package routing_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A spy is a filter that an Int32Value configures. Its interceptors see messages. It records its events, and counts
// its open instances and interceptors.
type spy struct {
	newStream func(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error)

	mu     sync.Mutex
	events []string

	instances, interceptors atomic.Int64
	misuse                  atomic.Int64 // uses after the end
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

const spyConfig = `http_filters { name: "spy" typed_config { [type.googleapis.com/google.protobuf.Int32Value] { value: 1 } } } `

func (s *spy) filter() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "google.protobuf.Int32Value", Sides: resource.ClientSide,
			Parse: func(_ *resource.DecodeContext, _ resource.TypedConfig) (any, error) { return "config", nil },
		},
		NewClient: func(httpfilter.Host) (httpfilter.ClientInstance, error) {
			s.instances.Add(1)
			return &spyInstance{spy: s}, nil
		},
	}
}

type spyInstance struct {
	*spy
	closed atomic.Bool
}

func (i *spyInstance) Interceptor(_, _ any) (httpfilter.ClientInterceptor, error) {
	i.interceptors.Add(1)
	return &spyInterceptor{spyInstance: i}, nil
}

func (i *spyInstance) Close() {
	i.instances.Add(-1)
	i.closed.Store(true)
}

type spyInterceptor struct {
	*spyInstance
	ended atomic.Bool
}

func (i *spyInterceptor) Close() error {
	i.interceptors.Add(-1)
	i.ended.Store(true)
	return nil
}

// check records a use after the end.
func (i *spyInterceptor) check() {
	if i.ended.Load() || i.closed.Load() {
		i.misuse.Add(1)
	}
}

func (i *spyInterceptor) NewStream(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	i.check()
	call.OnDone(func(err error) {
		i.check()
		i.add("done " + status.Code(err).String())
	})
	if i.newStream != nil {
		return i.newStream(ctx, call, next)
	}
	s, err := next(metadata.AppendToOutgoingContext(ctx, "spy", "1"))
	if err != nil {
		return nil, err
	}
	return &spyStream{s, i}, nil
}

// A spyStream appends "+" to requests and "-" to responses, and adds a header and a trailer.
type spyStream struct {
	grpc.ClientStream
	spy *spyInterceptor
}

func (s *spyStream) SendMsg(m any) error {
	s.spy.check()
	v := m.(*wrapperspb.StringValue).GetValue()
	s.spy.add("send " + v)
	return s.ClientStream.SendMsg(wrapperspb.String(v + "+"))
}

func (s *spyStream) RecvMsg(m any) error {
	s.spy.check()
	err := s.ClientStream.RecvMsg(m)
	if v, ok := m.(*wrapperspb.StringValue); ok && err == nil {
		v.Value += "-"
		s.spy.add("receive " + v.GetValue())
	}
	if status.Code(err) == codes.Aborted {
		return status.Error(codes.DataLoss, "changed")
	}
	return err
}

func (s *spyStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	return metadata.Join(md, metadata.Pairs("of-filter", "header")), err
}

func (s *spyStream) Trailer() metadata.MD {
	return metadata.Join(s.ClientStream.Trailer(), metadata.Pairs("of-filter", "trailer"))
}

// newSpyWorld returns a world whose routes have the spy before a plain filter. The server returns requests in
// brackets.
func newSpyWorld(t testing.TB, route string) (*world, *spy, *tag) {
	t.Helper()
	w, s, f := newWorld(t), new(spy), new(tag)
	w.filters = append(w.filters, s.filter(), f.filter())
	w.handler(func(_ string, s grpc.ServerStream) error {
		_ = s.SetHeader(metadata.Pairs("of-server", "header"))
		s.SetTrailer(metadata.Pairs("of-server", "trailer"))
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); err != nil {
			return err
		}
		md, _ := metadata.FromIncomingContext(s.Context())
		return s.SendMsg(wrapperspb.String("[" + m.GetValue() + strings.Join(md["spy"], "") + strings.Join(md["tag"], "") + "]"))
	})
	w.manageSpy(route)
	return w, s, f
}

const plainAfter = `http_filters { name: "tag" typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "t" } } }`

func (w *world) manageSpy(route string) {
	w.t.Helper()
	w.manage(spyConfig+plainAfter, `routes { match { prefix: "" } route { cluster: "a" `+route+` } }`)
}

// A filter sees and changes the messages, headers, trailers and the status of unary calls and streams. It runs before
// the later filters of the list.
func TestFilterSeesMessages(t *testing.T) {
	w, s, f := newSpyWorld(t, "")
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		var header, trailer metadata.MD
		var finished []error
		got, err := call(soon(t), "/p.S/M", grpc.Header(&header), grpc.Trailer(&trailer), grpc.OnFinish(func(err error) { finished = append(finished, err) }))
		if got != "[?+1t]-" || err != nil {
			t.Errorf("the response is %q, %v; want %q", got, err, "[?+1t]-")
		}
		if got := s.take(); !slices.Equal(got, []string{"send ?", "receive [?+1t]-", "done OK"}) {
			t.Errorf("the filter has the events %q", got)
		}
		if got := f.take(); !slices.Equal(got, []string{"t OK"}) {
			t.Errorf("the plain filter has the events %q", got)
		}
		for name, md := range map[string]metadata.MD{"header": header, "trailer": trailer} {
			if !slices.Equal(md["of-server"], []string{name}) || !slices.Equal(md["of-filter"], []string{name}) {
				t.Errorf("the %s is %v; want that of the server and of the filter", name, md)
			}
		}
		if len(finished) != 1 || finished[0] != nil {
			t.Errorf("OnFinish is called with %v; want nil, once", finished)
		}
	})
	w.handler(func(string, grpc.ServerStream) error { return status.Error(codes.Aborted, "no") })
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		var finished []codes.Code
		_, err := call(soon(t), "/p.S/M", grpc.OnFinish(func(err error) { finished = append(finished, status.Code(err)) }))
		if status.Code(err) != codes.DataLoss || !slices.Equal(finished, []codes.Code{codes.DataLoss}) {
			t.Errorf("the call ends with %v, OnFinish has %v; want the status of the filter, DATA_LOSS", err, finished)
		}
		if got := s.take(); !slices.Equal(got, []string{"send ?", "done DataLoss"}) {
			t.Errorf("the filter has the events %q", got)
		}
		_ = f.take()
	})
}

// Each message passes a filter once, however many attempts follow.
func TestFilterIsOutsideOfRetries(t *testing.T) {
	w, s, f := newSpyWorld(t, `retry_policy { retry_on: "unavailable" num_retries { value: 3 } retry_back_off { base_interval { nanos: 1000000 } } }`)
	var attempts atomic.Int64
	w.handler(func(_ string, s grpc.ServerStream) error {
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); err != nil {
			return err
		}
		if attempts.Add(1)%3 != 0 {
			return status.Error(codes.Unavailable, "again")
		}
		return s.SendMsg(m)
	})
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		attempts.Store(0)
		var finished atomic.Int64
		got, err := call(soon(t), "/p.S/M", grpc.OnFinish(func(error) { finished.Add(1) }))
		if got != "?+-" || err != nil || attempts.Load() != 3 || finished.Load() != 1 {
			t.Errorf("the response is %q, %v after %d attempts, OnFinish is called %d times; want %q after 3, once", got, err, attempts.Load(), finished.Load(), "?+-")
		}
		if got := s.take(); !slices.Equal(got, []string{"send ?", "receive ?+-", "done OK"}) {
			t.Errorf("the filter has the events %q; want each message once", got)
		}
		if got := f.take(); !slices.Equal(got, []string{"t OK"}) {
			t.Errorf("the plain filter has the events %q; want one call", got)
		}
	})
}

// Breaches of the contract of filters end the call with INTERNAL.
func TestFilterBreaksItsContract(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	for name, newStream := range map[string]func(context.Context, *httpfilter.ClientCall, httpfilter.ClientNext) (grpc.ClientStream, error){
		"no stream": func(context.Context, *httpfilter.ClientCall, httpfilter.ClientNext) (grpc.ClientStream, error) {
			return nil, nil //nolint:nilnil // the breach
		},
		"next twice": func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
			if _, err := next(ctx); err != nil {
				return nil, err
			}
			return next(ctx)
		},
		"two messages": func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
			s, err := next(ctx)
			return sendTwice{s}, err
		},
		"no message": func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
			s, err := next(ctx)
			return sendNone{s}, err
		},
		"no response": func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
			s, err := next(ctx)
			return receiveNone{s}, err
		},
	} {
		s.newStream = newStream
		if _, err := w.call(soon(t), "/p.S/M"); status.Code(err) != codes.Internal {
			t.Errorf("%s: the unary call ends with %v; want INTERNAL", name, err)
		}
		if got := s.take(); !slices.Equal(got, []string{"done Internal"}) {
			t.Errorf("%s: the filter has the events %q", name, got)
		}
	}
}

type sendTwice struct{ grpc.ClientStream }

func (s sendTwice) SendMsg(m any) error {
	if err := s.ClientStream.SendMsg(m); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

type sendNone struct{ grpc.ClientStream }

func (sendNone) SendMsg(any) error { return nil }

type receiveNone struct{ grpc.ClientStream }

func (receiveNone) RecvMsg(any) error { return io.EOF }

// A filter may end a call without the server: with an error, or with OK and a stream of its own.
func TestFilterEndsACall(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	_ = w.took()
	s.newStream = func(context.Context, *httpfilter.ClientCall, httpfilter.ClientNext) (grpc.ClientStream, error) {
		return nil, errors.New("plain error")
	}
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		if _, err := call(soon(t), "/p.S/M"); status.Code(err) != codes.Unknown {
			t.Errorf("the call ends with %v; want UNKNOWN", err)
		}
	})
	s.newStream = func(context.Context, *httpfilter.ClientCall, httpfilter.ClientNext) (grpc.ClientStream, error) {
		return nil, httpfilter.ErrEnd
	}
	if _, err := w.call(soon(t), "/p.S/M"); status.Code(err) != codes.Internal {
		t.Errorf("a unary call that ends with OK: %v; want INTERNAL", err)
	}
	stream, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		t.Errorf("a stream that ends with OK: %v; want EOF", err)
	}
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		t.Errorf("the stream receives %v after its end; want EOF again", err)
	}
	if err := stream.SendMsg(wrapperspb.String("")); !errors.Is(err, io.EOF) {
		t.Errorf("the stream sends after its end: %v; want EOF", err)
	}
	if got, want := s.take(), []string{"done Unknown", "done Unknown", "done Internal", "done OK"}; !slices.Equal(got, want) {
		t.Errorf("the filter has the events %q; want %q", got, want)
	}
	if n := w.took()["a"]; n != 0 {
		t.Errorf("the server gets %d calls; want none", n)
	}
}

// The rest of a call that a filter abandons is canceled.
func TestFilterAbandonsACall(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	canceled := make(chan struct{})
	started := make(chan struct{})
	w.handler(func(_ string, s grpc.ServerStream) error {
		close(started)
		<-s.Context().Done()
		close(canceled)
		return nil
	})
	s.newStream = func(ctx context.Context, _ *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
		if _, err := next(ctx); err != nil {
			return nil, err
		}
		<-started
		return nil, status.Error(codes.PermissionDenied, "abandoned")
	}
	if _, err := w.stream(t.Context(), "/p.S/M"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("the call ends with %v; want the error of the filter", err)
	}
	select {
	case <-canceled:
	case <-soon(t).Done():
		t.Error("the server still has the call")
	}
}

// A call ends with its context, even if the program does not receive its status.
func TestFilteredCallEndsWithItsContext(t *testing.T) {
	w, s, f := newSpyWorld(t, "")
	w.handler(func(_ string, s grpc.ServerStream) error {
		<-s.Context().Done()
		return nil
	})
	ctx, cancel := context.WithCancel(soon(t))
	finished := make(chan error, 2)
	stream, err := w.open(ctx, "/p.S/M", grpc.OnFinish(func(err error) { finished <- err }))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-finished; status.Code(err) != codes.Canceled {
		t.Errorf("OnFinish has %v; want CANCELED", err)
	}
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); status.Code(err) != codes.Canceled {
		t.Errorf("the stream receives %v; want CANCELED", err)
	}
	if a, b := s.take(), f.take(); !slices.Equal(a, []string{"done Canceled"}) || !slices.Equal(b, []string{"t Canceled"}) {
		t.Errorf("the filters have the events %q and %q; want one end each", a, b)
	}
}

// A call whose channel is closed ends, even if the program does not receive its status.
func TestFilteredCallEndsWithItsChannel(t *testing.T) {
	w, _, _ := newSpyWorld(t, "")
	started := make(chan struct{})
	w.handler(func(_ string, s grpc.ServerStream) error {
		close(started)
		<-s.Context().Done()
		return nil
	})
	finished := make(chan error, 2)
	if _, err := w.open(t.Context(), "/p.S/M", grpc.OnFinish(func(err error) { finished <- err })); err != nil {
		t.Fatal(err)
	}
	<-started
	_ = w.cc.Close()
	if err := <-finished; status.Code(err) != codes.Canceled {
		t.Errorf("OnFinish has %v; want CANCELED", err)
	}
}

// A route without a usable action fails after its filters, also if they see messages.
func TestFiltersOfAnUnusableRoute(t *testing.T) {
	w, s, f := newSpyWorld(t, "")
	w.manage(spyConfig+plainAfter, `routes { match { prefix: "" } non_forwarding_action {} }`)
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		if _, err := call(soon(t), "/p.S/M"); status.Code(err) != codes.Unavailable {
			t.Errorf("the call ends with %v; want UNAVAILABLE", err)
		}
		if a, b := s.take(), f.take(); !slices.Equal(a, []string{"done Unavailable"}) || !slices.Equal(b, []string{"t Unavailable"}) {
			t.Errorf("the filters have the events %q and %q; want one end each", a, b)
		}
	})
}

// While 10,000 updates replace the configuration under calls, no call has a filter that is closed. At the end, none is
// open.
func TestUpdatesUnderFilteredCalls(t *testing.T) {
	w, s, _ := newSpyWorld(t, "")
	configuration := w.config(spyConfig+plainAfter, `virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "" } route { cluster: "a" } } }`)
	without := w.config("", `virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "" } route { cluster: "a" } } }`)
	settings := w.settings()
	ctx := t.Context()
	var calls, failed atomic.Int64
	var stop atomic.Bool
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for !stop.Load() {
				call := w.call
				if i%2 == 0 {
					call = w.stream
				}
				if _, err := call(ctx, "/p.S/M"); err != nil {
					failed.Add(1)
				}
				calls.Add(1)
			}
		})
	}
	for i := range 10_000 {
		c := configuration
		if i%1000 == 999 {
			c = without
		}
		w.channel.Set(w.channel.Compile(c, settings), nil)
	}
	for before := calls.Load(); calls.Load() < before+8 && ctx.Err() == nil; { // calls run after the updates
		w.channel.Set(w.channel.Compile(configuration, settings), nil)
	}
	stop.Store(true)
	callers.Wait()
	w.channel.Set(nil, nil)
	if calls.Load() == 0 || failed.Load() > 0 || s.misuse.Load() > 0 {
		t.Errorf("of %d calls %d failed and %d used a closed filter; want none", calls.Load(), failed.Load(), s.misuse.Load())
	}
	if a, b := s.instances.Load(), s.interceptors.Load(); a != 0 || b != 0 {
		t.Errorf("%d instances and %d interceptors are open; want none", a, b)
	}
}
