package grpcxds_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds"
)

// logText is a logger's output.
type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logText) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), part)
}

// streamCall makes a streaming call with one message.
func streamCall(t *testing.T, cc *grpc.ClientConn) {
	t.Helper()
	s, err := cc.NewStream(soon(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(wrapperspb.String("?")); err != nil {
		t.Fatal(err)
	}
	_ = s.CloseSend()
	for s.RecvMsg(new(wrapperspb.StringValue)) == nil {
	}
}

// A channel logs once that the OpenTelemetry plugin comes after the options of grpcxds.
func TestMisplacedPluginIsLogged(t *testing.T) {
	p := newPlane(t)
	b := newBackend(t, "b")
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", retried("c")))
	p.cluster("c", "c", b)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()))
	for _, test := range []struct {
		name   string
		wrong  int
		stream bool
		order  func(ours []grpc.DialOption, plugin grpc.DialOption) []grpc.DialOption
	}{
		{"before", 0, false, func(ours []grpc.DialOption, plugin grpc.DialOption) []grpc.DialOption {
			return append([]grpc.DialOption{plugin}, ours...)
		}},
		{"before a stream", 0, true, func(ours []grpc.DialOption, plugin grpc.DialOption) []grpc.DialOption {
			return append([]grpc.DialOption{plugin}, ours...)
		}},
		{"after", 1, false, func(ours []grpc.DialOption, plugin grpc.DialOption) []grpc.DialOption { return append(ours, plugin) }},
		{"after a stream", 1, true, func(ours []grpc.DialOption, plugin grpc.DialOption) []grpc.DialOption { return append(ours, plugin) }},
		{"none", 0, false, func(ours []grpc.DialOption, _ grpc.DialOption) []grpc.DialOption { return ours }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log logText
			d := grpcxds.Dialer{Env: env, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			_, plugin := observe()
			cc, err := grpc.NewClient("xds:///svc", append(test.order(d.DialOptions(), plugin), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			if err != nil {
				t.Fatal(err)
			}
			defer cc.Close()
			for range 2 {
				if test.stream {
					streamCall(t, cc)
				} else if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
					t.Fatal(err)
				}
			}
			if n := log.count("the OpenTelemetry plugin comes after the options of grpcxds"); n != test.wrong {
				t.Errorf("%d lines about the order; want %d", n, test.wrong)
			}
		})
	}
}

// NewClient puts its interceptors after those of the program, in whichever order the program gives its options.
func TestNewClientPutsThePluginFirst(t *testing.T) {
	p := newPlane(t)
	b := newBackend(t, "b")
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", retried("c")))
	p.cluster("c", "c", b)
	var log logText
	d := grpcxds.Dialer{Env: newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	_, plugin := observe()
	cc := dialWith(t, d, "xds:///svc", plugin)
	if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
		t.Fatal(err)
	}
	if n := log.count("the OpenTelemetry plugin"); n != 0 {
		t.Errorf("%d lines about the order", n)
	}
}

// events returns the events of the spans, each with its span.
func events(spans tracetest.SpanStubs) (lines []string) {
	for _, s := range spans {
		for _, e := range s.Events {
			if strings.HasPrefix(e.Name, "Delayed name") {
				lines = append(lines, e.Name+" on "+s.Name)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// A waitingContext calls a function before a goroutine waits for its end.
type waitingContext struct {
	context.Context //nolint:containedctx // one call's
	waiting         func()
}

// Done implements [context.Context].
func (c waitingContext) Done() <-chan struct{} {
	c.waiting()
	return c.Context.Done()
}

// The span of a call that waits for its first configuration has the event of A72, as that of a call which waits
// for one of grpc-go's own resolvers. Later calls have no such event.
func TestNameResolutionDelayIsAnEventOfTheCall(t *testing.T) {
	p := newPlane(t)
	b := newBackend(t, "b")
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", retried("c")))
	p.cluster("c", "c", b)
	ours, option := observe()
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())), "xds:///svc", option)
	for range 2 {
		if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
			t.Fatal(err)
		}
	}
	native, option := observe()
	late := manual.NewBuilderWithScheme("late")
	var built atomic.Bool
	late.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { built.Store(true) }
	var resolve sync.Once
	waiting := func() {
		if built.Load() {
			go resolve.Do(func() {
				late.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: fmt.Sprintf("127.0.0.1:%d", b.port)}}})
			})
		}
	}
	other, err := grpc.NewClient("late:///svc", grpc.WithResolvers(late), option, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for range 2 {
		if _, err := call(waitingContext{soon(t), waiting}, other, "/p.S/M"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"Delayed name resolution complete on Sent.p.S.M"}
	if got := events(ours.spans.GetSpans()); !slices.Equal(got, want) {
		t.Errorf("events %q; want %q", got, want)
	}
	if got := events(native.spans.GetSpans()); !slices.Equal(got, want) {
		t.Errorf("events of grpc-go %q; want %q", got, want)
	}
}
