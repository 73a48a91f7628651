package routing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/scrape"
	"github.com/xdsforge/xdsforge/internal/telemetry"
)

// retries returns a route whose calls are retried up to n times if the server is unavailable.
func retries(cluster string, n int) string {
	return fmt.Sprintf(`routes { match { prefix: "" } route { cluster: %q retry_policy { retry_on: "unavailable" num_retries { value: %d }
		retry_back_off { base_interval { nanos: 1000000 } } } } }`, cluster, n)
}

// failing is a handler that fails n times. Then it responds with the number of attempts in the
// metadata, and with the messages that it has received.
func failing(n int64, fail func(s grpc.ServerStream) error) func(string, grpc.ServerStream) error {
	var calls atomic.Int64
	return func(_ string, s grpc.ServerStream) error {
		if calls.Add(1) <= n {
			return fail(s)
		}
		var got []string
		for {
			m := new(wrapperspb.StringValue)
			if err := s.RecvMsg(m); err != nil {
				break
			}
			got = append(got, m.GetValue())
		}
		md, _ := metadata.FromIncomingContext(s.Context())
		return s.SendMsg(wrapperspb.String(strings.Join(md["grpc-previous-rpc-attempts"], ",") + ":" + strings.Join(got, ",")))
	}
}

// gRPC retries the calls of a table if all routes have the same retry policy.
func TestRetryNatively(t *testing.T) {
	const none, once, twice = "", `retry_policy { retry_on: "unavailable" }`, `retry_policy { retry_on: "unavailable" num_retries { value: 2 } }`
	w := newWorld(t)
	for _, tt := range []struct {
		policies []string // of the routes
		native   bool
	}{
		{[]string{twice}, true},
		{[]string{twice, twice, twice}, true},
		{[]string{twice, once, twice}, false},
		{[]string{none, none}, false},
		{[]string{none, twice}, false},
		{[]string{twice, none, twice}, false},
	} {
		var b strings.Builder
		for _, p := range tt.policies {
			fmt.Fprintf(&b, `routes { match { prefix: "" } route { cluster: "a" %s } } `, p)
		}
		c := w.config("", `virtual_hosts { name: "h" domains: "svc" `+b.String()+` }`)
		table := w.channel.Compile(c, w.settings())
		got := w.channel.RetryNatively(table)
		if strings.Contains(got, `"maxAttempts":3,`) != tt.native || (got == "") == tt.native {
			t.Errorf("routes with the policies %q have the method config %q; want one: %t", tt.policies, got, tt.native)
		}
		w.channel.Set(table, nil)
		w.channel.RetryHere()
	}
}

func unavailable(grpc.ServerStream) error { return status.Error(codes.Unavailable, "not now") }

func TestRetries(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		name    string
		routes  string
		fail    func(grpc.ServerStream) error
		fails   int64
		want    string
		attempt int
	}{
		{"as often as it takes", retries("a", 4), unavailable, 2, "2:?", 3},
		{"not more often than wanted", retries("a", 2), unavailable, 3, "Unavailable", 3},
		{"not more often than gRPC does", retries("a", 10), unavailable, 9, "Unavailable", 5},
		{"another code", retries("a", 4), func(grpc.ServerStream) error { return status.Error(codes.Internal, "") }, 1, "Internal", 1},
		{"after a header", retries("a", 4), func(s grpc.ServerStream) error {
			_ = s.SendHeader(metadata.Pairs("x", "1"))
			return unavailable(s)
		}, 1, "Unavailable", 1},
		{"the server wants it later", retries("a", 4), func(s grpc.ServerStream) error {
			s.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", "3"))
			return unavailable(s)
		}, 2, "2:?", 3},
		{"the server does not want it", retries("a", 4), func(s grpc.ServerStream) error {
			s.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", "-1"))
			return unavailable(s)
		}, 1, "Unavailable", 1},
		{"no policy", `routes { match { prefix: "" } route { cluster: "a" } }`, unavailable, 1, "Unavailable", 1},
		{"the virtual host's policy", `retry_policy { retry_on: "unavailable,cancelled" num_retries { value: 1 } } routes { match { prefix: "" } route { cluster: "a" } }`, unavailable, 1, "1:?", 2},
	} {
		w.route(test.routes)
		w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
			w.handler(failing(test.fails, test.fail))
			w.took()
			var ends atomic.Int64
			var header, trailer metadata.MD
			got, err := call(soon(t), "/p.S/M", grpc.OnFinish(func(error) { ends.Add(1) }), grpc.Header(&header), grpc.Trailer(&trailer))
			if err != nil {
				got = status.Code(err).String()
			}
			if got != test.want || w.took()["a"] != test.attempt {
				t.Errorf("%s: %q, %v; want %q with %d attempts", test.name, got, err, test.want, test.attempt)
			}
			if n := ends.Load(); n != 1 {
				t.Errorf("%s: OnFinish was called %d times", test.name, n)
			}
		})
	}
}

// TestRetryMetrics expects a record for a call with retries, and none for one without (gRFC A96).
func TestRetryMetrics(t *testing.T) {
	w := newWorld(t)
	meter := scrape.NewMeter()
	calls, err := telemetry.NewCalls(meter)
	if err != nil {
		t.Fatal(err)
	}
	w.metrics = calls.Of("xds:///svc")
	w.route(retries("a", 4))
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		before, err := meter.Lines(t.Context(), "grpc.client.call.retries")
		if err != nil {
			t.Fatal(err)
		}
		w.handler(failing(2, unavailable))
		for range 3 { // the first is retried twice
			if _, err := call(soon(t), "/p.S/M"); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"grpc.client.call.retries{grpc.method=other,grpc.target=xds:///svc} 1 of 2"}
		if len(before) > 0 {
			want = []string{"grpc.client.call.retries{grpc.method=other,grpc.target=xds:///svc} 2 of 4"}
		}
		if lines, err := meter.Lines(t.Context(), "grpc.client.call.retries"); err != nil || !slices.Equal(lines, want) {
			t.Errorf("%q, %v; want %q", lines, err, want)
		}
	})
}

func TestDroppedCallsAreNotMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.route(retries("dropped", 4))
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		before := dropped.Load()
		if _, err := call(soon(t), "/p.S/M"); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
		if n := dropped.Load() - before; n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}

func TestRetriesCanBeDisabled(t *testing.T) {
	w := newWorld(t)
	w.channel.DisableRetries()
	w.route(retries("a", 4))
	w.handler(failing(1, unavailable))
	if _, err := w.call(soon(t), "/p.S/M"); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

// The deadline ends the back-off before another attempt.
func TestDeadlineWhileWaiting(t *testing.T) {
	w := newWorld(t)
	w.route(`routes { match { prefix: "" } route { cluster: "a" retry_policy { retry_on: "unavailable" num_retries { value: 1 } retry_back_off { base_interval { seconds: 1000 } } } } }`)
	w.handler(failing(1, unavailable))
	w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
		w.handler(failing(1, unavailable))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := call(ctx, "/p.S/M"); status.Code(err) != codes.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// A retry resends all messages in order, including those that were sent after the stream broke.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	w.route(retries("a", 4))
	broken := make(chan struct{})
	w.handler(failing(2, func(s grpc.ServerStream) error {
		defer func() { broken <- struct{}{} }()
		if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
			return err
		}
		return unavailable(s)
	}))
	s, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	header := make(chan metadata.MD)
	go func() {
		md, _ := s.Header() // the retry starts while the other goroutine sends
		header <- md
	}()
	m := wrapperspb.String("")
	for i := range 6 {
		m.Value = fmt.Sprint(i) // the caller may change a message after sending it
		if err := s.SendMsg(m); err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			<-broken
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if md := <-header; len(md["content-type"]) == 0 {
		t.Errorf("the header is %v", md)
	}
	if err := s.RecvMsg(m); err != nil || m.GetValue() != "2:0,1,2,3,4,5" {
		t.Errorf("%q, %v", m.GetValue(), err)
	}
	if err := s.RecvMsg(m); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if s.Context() == nil || s.Trailer() != nil && len(s.Trailer()) > 0 {
		t.Error("the stream does not forward")
	}
}

// A stream breaks any number of times and anywhere before the header. One goroutine sends and
// another receives. The server gets all messages in order.
func TestReplayAnywhere(t *testing.T) {
	w := newWorld(t)
	w.route(retries("a", 4))
	var attempts sync.Map // of each call, by its number
	w.handler(func(_ string, s grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		n, _ := attempts.LoadOrStore(md["call"][0], new(atomic.Int64))
		if n.(*atomic.Int64).Add(1) <= rand.Int64N(5) { // never more than four times
			for range rand.IntN(25) {
				if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
					break
				}
			}
			return unavailable(s)
		}
		return failing(0, nil)("", s)
	})
	const sent = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"
	var calls sync.WaitGroup
	for call := range 100 {
		calls.Go(func() {
			s, err := w.open(metadata.AppendToOutgoingContext(soon(t), "call", fmt.Sprint(call)), "/p.S/M")
			if err != nil {
				t.Error(err)
				return
			}
			calls.Go(func() {
				m := new(wrapperspb.StringValue)
				for i := range 20 {
					m.Value = fmt.Sprint(i)
					if err := s.SendMsg(m); err != nil {
						t.Errorf("call %d: sending: %v", call, err)
					}
				}
				if err := s.CloseSend(); err != nil {
					t.Errorf("call %d: %v", call, err)
				}
			})
			m := new(wrapperspb.StringValue)
			if err := s.RecvMsg(m); err != nil || !strings.HasSuffix(m.GetValue(), ":"+sent) {
				t.Errorf("call %d: the server got %q, %v", call, m.GetValue(), err)
			}
			if err := s.RecvMsg(m); !errors.Is(err, io.EOF) {
				t.Errorf("call %d: %v", call, err)
			}
		})
	}
	calls.Wait()
}

// A program that only sends notices that attempts fail before the messages exceed the limit. The
// server gets all messages.
func TestReplayOfSenders(t *testing.T) {
	w := newWorld(t)
	w.route(retries("a", 4))
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for _, failures := range []int64{1, 3} {
		begun := make(chan struct{}, failures+1)
		serve := failing(failures, unavailable)
		w.handler(func(cluster string, s grpc.ServerStream) error {
			begun <- struct{}{}
			return serve(cluster, s)
		})
		ctx := soon(t)
		s, err := w.open(ctx, "/p.S/M")
		if err != nil {
			t.Fatal(err)
		}
		length := len("1:") - len(",")
		send := func(size int) {
			if err := s.SendMsg(wrapperspb.String(strings.Repeat("x", size))); err != nil {
				t.Fatalf("%d failures: sending: %v", failures, err)
			}
			length += size + len(",")
		}
		for attempts := int64(0); attempts <= failures && ctx.Err() == nil; { // small messages, until the last attempt
			select {
			case <-begun:
				attempts++
			case <-pause.C:
				send(1)
			}
		}
		for range 64 {
			send(8 << 10)
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); err != nil {
			t.Fatalf("%d failures: receiving: %v", failures, err)
		}
		if got := len(m.GetValue()); got != length {
			t.Errorf("%d failures: the server got %d bytes, want all of %d", failures, got, length)
		}
	}
}

// While a receiver waits for the next attempt, a sender whose stream has ended waits too. Then it
// continues on the new stream.
func TestReplayOfSendersBesideReceivers(t *testing.T) {
	w := newWorld(t)
	w.route(`routes { match { prefix: "" } route { cluster: "a" retry_policy { retry_on: "unavailable" num_retries { value: 1 }
		retry_back_off { base_interval { nanos: 200000000 } } } } }`)
	w.handler(failing(1, unavailable))
	s, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan error, 1)
	reply := new(wrapperspb.StringValue)
	go func() { received <- s.RecvMsg(reply) }()
	sent := make(chan error, 1)
	go func() {
		pause := time.NewTicker(time.Millisecond)
		defer pause.Stop()
		for range 100 {
			<-pause.C
			if err := s.SendMsg(wrapperspb.String("x")); err != nil {
				sent <- err
				return
			}
		}
		sent <- s.CloseSend()
	}()
	for range 2 {
		select {
		case err := <-sent:
			if err != nil {
				t.Fatalf("sending: %v", err)
			}
		case err := <-received:
			if err != nil {
				t.Fatalf("receiving: %v", err)
			}
		case <-time.NewTimer(time.Minute).C:
			t.Fatal("the sender or the receiver waits for ever")
		}
	}
	if got := strings.Count(reply.GetValue(), "x"); got != 100 {
		t.Errorf("the server got %d messages, want 100", got)
	}
}

// A program that only sends gets io.EOF when the last attempt has failed, as with a plain stream.
func TestReplayOfSendersEnds(t *testing.T) {
	w := newWorld(t)
	w.route(retries("a", 1))
	w.handler(func(_ string, s grpc.ServerStream) error { return unavailable(s) })
	s, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = s.SendMsg(wrapperspb.String("x"))
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("sending: %v, want io.EOF", err)
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); status.Code(err) != codes.Unavailable {
		t.Errorf("receiving: %v, want Unavailable", err)
	}
	if n := w.took()["a"]; n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}

// The buffer drops messages beyond the limit. The attempt is then the last one.
func TestReplayIsBounded(t *testing.T) {
	w := newWorld(t)
	w.route(retries("a", 4))
	for _, test := range []struct {
		name string
		opts []grpc.CallOption
		m    any
	}{
		{"the default", nil, wrapperspb.String(strings.Repeat("x", 260<<10))},
		{"a call's own", []grpc.CallOption{grpc.MaxRetryRPCBufferSize(3)}, wrapperspb.String("xx")},
		{"no protobuf message", []grpc.CallOption{grpc.ForceCodec(textCodec{})}, "x"},
	} {
		w.handler(failing(1, func(s grpc.ServerStream) error {
			var m wrapperspb.StringValue
			_ = s.RecvMsg(&m)
			return unavailable(s)
		}))
		w.took()
		var ends atomic.Int64
		s, err := w.open(soon(t), "/p.S/M", append(test.opts, grpc.OnFinish(func(error) { ends.Add(1) }))...)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SendMsg(test.m); err != nil {
			t.Fatal(err)
		}
		if err := s.RecvMsg(new(wrapperspb.StringValue)); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", test.name, err)
		}
		if n := w.took()["a"]; n != 1 || ends.Load() != 1 {
			t.Errorf("%s: %d attempts, %d ends", test.name, n, ends.Load())
		}
	}
}

// A call ends with its context even if the program no longer receives from it.
func TestReplayIsCancelled(t *testing.T) {
	w := newWorld(t)
	h := &subscriber{held: make(map[string]int)}
	w.channel.SetSubscriber(h)
	w.route(retries("a", 4))
	over := make(chan struct{})
	w.handler(func(_ string, s grpc.ServerStream) error {
		<-s.Context().Done()
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := w.open(ctx, "/p.S/M", grpc.OnFinish(func(error) { close(over) })); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-over
}

// A message that cannot be encoded ends the call.
func TestReplayEndsWithABadMessage(t *testing.T) {
	w := newWorld(t)
	w.route(retries("a", 4))
	over := make(chan error, 1)
	s, err := w.open(soon(t), "/p.S/M", grpc.MaxCallSendMsgSize(1), grpc.OnFinish(func(err error) { over <- err }))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(wrapperspb.String("too long")); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("sending: %v", err)
	}
	select {
	case err := <-over:
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("the call ended with %v", err)
		}
	default:
		t.Error("the call has not ended")
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("receiving: %v", err)
	}
}

// A stream that ends successfully without a header is not retried.
func TestReplayWithoutHeader(t *testing.T) {
	w := newWorld(t)
	w.route(retries("a", 4))
	w.handler(func(string, grpc.ServerStream) error { return nil })
	s, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
	if n := w.took()["a"]; n != 1 {
		t.Errorf("%d attempts", n)
	}
}

// textCodec encodes strings as messages that a server decodes as StringValue.
type textCodec struct{}

func (textCodec) Name() string                  { return "proto" }
func (textCodec) Marshal(v any) ([]byte, error) { return proto.Marshal(wrapperspb.String(v.(string))) }
func (textCodec) Unmarshal([]byte, any) error   { return nil }
