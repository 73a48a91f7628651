package extproc

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

// A waiting client gets no stream until its context ends. The channel has a state.
type waiting struct {
	grpc.ClientConnInterface
	state connectivity.State
}

func (w waiting) GetState() connectivity.State { return w.state }

// Process implements [extprocv3.ExternalProcessorClient].
func (waiting) Process(ctx context.Context, _ ...grpc.CallOption) (extprocv3.ExternalProcessor_ProcessClient, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A call waits 10 s for a processor that owes something, or as long as configured. It waits without a limit for one that keeps messages.
func TestSilence(t *testing.T) {
	messages := config.Modes{RequestMessages: true, ResponseMessages: true, ResponseTrailers: true}
	headers := func(x *exchange) {
		_ = x.offerHeaders(&x.request, &x.request.headers, x.requestHeaders(metadata.MD{}))
	}
	message := func(n int) func(*exchange) {
		return func(x *exchange) { _, _ = x.offerMessage(&x.request, body(make([]byte, n))) }
	}
	for name, tt := range map[string]struct {
		change func(*config.Config, *mute)
		events []func(*exchange)
		after  time.Duration // 0: the call goes on
		passes bool          // events pass after it
	}{
		"headers without an answer":           {nil, []func(*exchange){headers}, 10 * time.Second, false},
		"with message_timeout":                {func(c *config.Config, _ *mute) { c.MessageTimeout = time.Second }, []func(*exchange){headers}, time.Second, false},
		"failure_mode_allow":                  {func(c *config.Config, _ *mute) { c.FailureModeAllow = true }, []func(*exchange){headers}, 10 * time.Second, true},
		"failure_mode_allow, before messages": {func(c *config.Config, _ *mute) { c.FailureModeAllow, c.Modes = true, messages }, []func(*exchange){headers}, 10 * time.Second, false},
		"a message":                           {func(c *config.Config, _ *mute) { c.Modes = messages }, []func(*exchange){message(1)}, 0, false},
		"a full window":                       {func(c *config.Config, _ *mute) { c.Modes = messages }, []func(*exchange){message(initialWindow), message(1)}, 10 * time.Second, false},
		"a half-close": {func(c *config.Config, _ *mute) { c.Modes = messages }, []func(*exchange){message(1), func(x *exchange) {
			_, _ = x.offerMessage(&x.request, halfClosed())
		}}, 10 * time.Second, false},
		"an observer":                           {func(c *config.Config, _ *mute) { c.ObservabilityMode = true }, []func(*exchange){headers, message(1)}, 0, false},
		"an observer that does not read":        {unread, []func(*exchange){message(1)}, 10 * time.Second, false},
		"the same with failure_mode_allow":      {func(c *config.Config, m *mute) { unread(c, m); c.FailureModeAllow = true }, []func(*exchange){message(1)}, 10 * time.Second, true},
		"a processor that does not read events": {func(_ *config.Config, m *mute) { m.send = untilDone }, []func(*exchange){headers}, 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := new(mute)
				p := &processor{config: config.Config{Modes: config.Modes{RequestHeaders: true}}, client: m, release: func() {}, uses: 1}
				if tt.change != nil {
					tt.change(&p.config, m)
				}
				checkSilence(t, p, tt.events, tt.after, tt.passes)
			})
		})
	}
}

func untilDone(ctx context.Context) { <-ctx.Done() }

func unread(c *config.Config, m *mute) { c.ObservabilityMode, m.send = true, untilDone }

// checkSilence offers events, and checks when and how the call ends.
func checkSilence(t *testing.T, p *processor, events []func(*exchange), after time.Duration, passes bool) {
	t.Helper()
	x, _ := p.newExchange(t.Context(), nil)
	defer x.cancel()
	defer x.end()
	begun := time.Now()
	go func() {
		for _, event := range events {
			event(x)
		}
	}()
	over := make(chan error, 1)
	go func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		over <- x.wait(func() bool { return x.phase == passing })
	}()
	select {
	case err := <-over:
		d := time.Since(begun)
		if d != after || passes != (err == nil) || !passes && status.Code(err) != codes.Internal {
			t.Errorf("%v after %v; want events to pass %t, after %v", err, d, passes, after)
		}
	case <-time.NewTimer(time.Hour).C:
		if after != 0 {
			t.Errorf("the call waits for an hour; want %v", after)
		}
	}
}

// A call that gets no stream of a connected channel waits for other calls, and does not continue without the processor.
func TestNoStream(t *testing.T) {
	for state, passes := range map[connectivity.State]bool{connectivity.Ready: false, connectivity.Connecting: true} {
		synctest.Test(t, func(t *testing.T) {
			w := waiting{state: state}
			p := &processor{config: config.Config{FailureModeAllow: true, Modes: config.Modes{RequestHeaders: true}}, client: w, channel: w, release: func() {}, uses: 1}
			checkSilence(t, p, []func(*exchange){func(x *exchange) {
				_ = x.offerHeaders(&x.request, &x.request.headers, x.requestHeaders(metadata.MD{}))
			}}, 10*time.Second, passes)
		})
	}
}

// failure_mode_allow forgives failures of the processor, and none that a caller can cause.
func TestForgives(t *testing.T) {
	headers, messages := config.Modes{RequestHeaders: true, ResponseHeaders: true}, config.Modes{RequestHeaders: true, RequestMessages: true}
	late := status.Error(codes.DeadlineExceeded, "")
	for name, tt := range map[string]struct {
		err      error
		modes    config.Modes
		begun    bool
		change   func(*exchange)
		forgives bool
	}{
		"an error":                        {status.Error(codes.Unavailable, "down"), headers, true, nil, true},
		"a size":                          {status.Error(codes.ResourceExhausted, "too large"), headers, true, nil, false},
		"invalid headers":                 {status.Error(codes.InvalidArgument, "x"), headers, true, nil, false},
		"a full circuit breaker":          {&silenceError{"full", true}, headers, false, nil, false},
		"a time limit without an answer":  {late, headers, true, pending, true},
		"a cancellation without one":      {status.Error(codes.Canceled, ""), headers, true, pending, true},
		"a time limit during the call":    {late, headers, true, answered, false},
		"a cancellation during the call":  {status.Error(codes.Canceled, ""), headers, true, answered, false},
		"a time limit before an answer":   {late, headers, true, func(x *exchange) { answered(x); x.response.headers.sent = true }, false},
		"a time limit after all answers":  {late, headers, true, func(x *exchange) { answered(x); x.response.headers = reply{sent: true, answered: true} }, true},
		"a time limit without a stream":   {late, messages, false, pending, true},
		"the same before messages":        {late, messages, true, pending, false},
		"the same between them":           {late, messages, true, answered, false},
		"a response outside the protocol": {status.Error(codes.Internal, "x"), headers, true, nil, true},
	} {
		p := &processor{config: config.Config{FailureModeAllow: true, Modes: tt.modes}, release: func() {}, uses: 1}
		x, _ := p.newExchange(t.Context(), nil)
		x.mu.Lock()
		x.begun = tt.begun
		if tt.change != nil {
			tt.change(x)
		}
		x.stopLocked(tt.err)
		if got := x.phase == passing; got != tt.forgives {
			t.Errorf("%s: events pass %t; want %t", name, got, tt.forgives)
		}
		x.mu.Unlock()
		x.end()
	}
}

// The processor has not answered, or has answered, to the headers of the request.
func pending(x *exchange)  { x.request.headers.sent = true }
func answered(x *exchange) { x.request.headers = reply{sent: true, answered: true} }

// An answer begins a new silence: a processor that answers in time is not silent, however long the call lasts.
func TestAnswersEndSilences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(mute)
		p := &processor{config: config.Config{Modes: config.Modes{RequestHeaders: true, ResponseHeaders: true}}, client: m, release: func() {}, uses: 1}
		x, _ := p.newExchange(t.Context(), nil)
		defer x.cancel()
		defer x.end()
		answer := func(r *reply) {
			<-time.NewTimer(9 * time.Second).C
			x.mu.Lock()
			r.answered = true
			x.heard()
			x.mu.Unlock()
		}
		_ = x.offerHeaders(&x.request, &x.request.headers, x.requestHeaders(metadata.MD{}))
		answer(&x.request.headers)
		<-time.NewTimer(time.Hour).C
		_ = x.offerHeaders(&x.response, &x.response.headers, x.responseHeaders(metadata.MD{}, false))
		answer(&x.response.headers)
		x.mu.Lock()
		if x.phase != live {
			t.Errorf("the call ends with %v; want it to go on", x.err)
		}
		x.response.headers.answered = false
		x.heard()
		x.mu.Unlock()
		<-time.NewTimer(11 * time.Second).C
		synctest.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.phase != failed || !strings.Contains(x.err.Error(), "silent for 10s") {
			t.Errorf("the call ends with %v; want the silence", x.err)
		}
	})
}
