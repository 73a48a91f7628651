package grpcxds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/internal/environment"
)

// The phases of the load test.
var phases = []string{"at rest", "Listener updates", "route flips", "control plane restarts", "certificate rotations", "deletions"}

// A load makes calls of all kinds without a pause.
type load struct {
	*site
	ctx   context.Context
	phase atomic.Int64

	// mayRefuse allows new calls to fail with UNAVAILABLE.
	mayRefuse                bool
	calls, failures, refused atomic.Int64

	mu    sync.Mutex
	times [][]time.Duration // latencies of unary calls, by phase
}

// under puts a server under load. The returned function ends the load.
func (s *site) under(workers int, mayRefuse bool, opts ...grpc.DialOption) (l *load, stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	l = &load{site: s, ctx: ctx, mayRefuse: mayRefuse, times: make([][]time.Duration, len(phases))}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { l.unary(s.dial(opts...)) })
		wg.Go(func() { l.streams(s.dial(opts...)) })
	}
	wg.Go(func() { l.dials(opts...) })
	return l, func() {
		cancel()
		wg.Wait()
	}
}

// errMiddle is the error of a stream that had begun.
var errMiddle = errors.New("in the middle")

// done counts a call.
func (l *load) done(what string, err error) {
	if err != nil && l.ctx.Err() != nil {
		return // the test is over
	}
	l.calls.Add(1)
	if l.mayRefuse && status.Code(err) == codes.Unavailable && !errors.Is(err, errMiddle) {
		l.refused.Add(1)
		return
	}
	if err != nil {
		l.failures.Add(1)
		l.Errorf("%s, %s: %v", phases[l.phase.Load()], what, err)
	}
}

func (l *load) unary(c testpb.TestServiceClient) {
	times := make([][]time.Duration, len(phases))
	for l.ctx.Err() == nil {
		phase, start := l.phase.Load(), time.Now()
		_, err := c.EmptyCall(l.ctx, &testpb.Empty{})
		times[phase] = append(times[phase], time.Since(start))
		l.done("unary call", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range times {
		l.times[i] = append(l.times[i], times[i]...)
	}
}

// streams repeatedly opens a stream, exchanges some messages, and closes it.
func (l *load) streams(c testpb.TestServiceClient) {
	for l.ctx.Err() == nil {
		l.done("stream", l.stream(c))
	}
}

func (l *load) stream(c testpb.TestServiceClient) error {
	ss, err := c.FullDuplexCall(l.ctx)
	if err != nil {
		return err
	}
	for i := range 20 {
		if err := ss.Send(&testpb.StreamingOutputCallRequest{}); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, err := ss.Recv(); err != nil && i > 0 {
			return fmt.Errorf("%w: %w", errMiddle, err)
		} else if err != nil {
			return err
		}
	}
	_ = ss.CloseSend()
	if _, err := ss.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errMiddle, err)
	}
	return nil
}

// dials makes each call over a new connection.
func (l *load) dials(opts ...grpc.DialOption) {
	for l.ctx.Err() == nil {
		cc := l.channel(opts...)
		_, err := testpb.NewTestServiceClient(cc).EmptyCall(l.ctx, &testpb.Empty{})
		l.done("fresh dial", err)
		_ = cc.Close()
	}
}

// step waits until the server has handled some more calls.
func (l *load) step() {
	l.Helper()
	served := func() int64 { return l.calls.Load() - l.refused.Load() }
	until := served() + 10
	l.eventually("more calls", func() bool { return served() >= until })
}

// enter begins a phase.
func (l *load) enter(phase string) {
	l.Helper()
	l.phase.Store(int64(slices.Index(phases, phase)))
}

// No call fails, whatever changes in the configuration.
func TestServerUnderLoad(t *testing.T) {
	w, v := newSecureWorld(t)
	w.handshakes = time.Minute // like the calls: on a busy machine, a handshake may take longer than the default
	conns := new(connections)
	s := w.serveWith(func(c *ServerConfig) { c.DrainTime = time.Minute }, Creds(nil), grpc.StatsHandler(conns))
	listeners := []string{withTLS(s.listener(rds("a"))), withTLS(s.listener(rds("b"))), withTLS(s.listener(inline(anyRoute)))}
	routes := []string{allHosts, `virtual_hosts { domains: "*" routes { match { prefix: "/grpc.testing." } non_forwarding_action {} } }`}
	w.publishRoutes("a", routes[0])
	w.publishRoutes("b", routes[1])
	w.publishListener(listeners[0])
	s.awaitServing()
	l, stop := s.under(3, false, grpc.WithTransportCredentials(v.client()))
	steps := func(phase string, n int, f func(i int)) {
		t.Helper()
		l.enter(phase)
		for i := range n {
			f(i)
			l.step()
		}
	}

	steps("at rest", 20, func(int) {})
	steps("Listener updates", 200, func(i int) {
		w.publishListener(listeners[(i+1)%len(listeners)])
		s.generation++
		s.settle()
	})
	steps("route flips", 50, func(i int) { w.publishRoutes("a", routes[i%2]); w.publishRoutes("b", routes[(i+1)%2]) })
	steps("control plane restarts", 5, func(int) {
		w.plane.Stop()
		l.step()
		if err := w.plane.Restart(); err != nil {
			t.Fatal(err)
		}
	})
	steps("certificate rotations", 20, func(i int) { v.rotate(fmt.Sprint(i)) })
	steps("deletions", 20, func(i int) { // resources in use stay (A88)
		if err := w.plane.Delete(listenerMessage, s.name); err != nil {
			t.Fatal(err)
		}
		if err := w.plane.Delete(routeMessage, "a"); err != nil {
			t.Fatal(err)
		}
		l.step()
		w.publishRoutes("a", routes[i%2])
		w.publishListener(listeners[2])
	})
	stop()

	t.Logf("%d calls, %d failed; %d connections", l.calls.Load(), l.failures.Load(), conns.begun.Load())
	for i, times := range l.times {
		slices.Sort(times)
		if n := len(times); n > 0 {
			t.Logf("%-24s %6d unary calls, median %v, p99 %v", phases[i], n, times[n/2].Round(time.Microsecond), times[n*99/100].Round(time.Microsecond))
		}
	}
	if n := conns.begun.Load(); n < 200 {
		t.Errorf("%d connections; 200 Listeners should cause more", n)
	}
	if n := len(s.events); n > 0 {
		t.Errorf("%d events; it served all the time", n)
	}
}

// A server that loses its configuration refuses new calls. Calls in flight succeed.
func TestServerThatStopsServingUnderLoad(t *testing.T) {
	w := newWorld(t, environment.WithClient(func(o *client.Options) { o.FailOnDataErrors = true }))
	s := w.serve()
	listener := s.listener(inline(anyRoute))
	w.publishListener(listener)
	s.awaitServing()
	l, stop := s.under(2, true, grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}}))
	for range 20 {
		l.step()
		if err := w.plane.Delete(listenerMessage, s.name); err != nil {
			t.Fatal(err)
		}
		if e := s.await(); e.mode != NotServing {
			t.Fatal("it serves without a Listener")
		}
		refused := l.refused.Load()
		l.eventually("calls are refused", func() bool { return l.refused.Load() > refused })
		w.publishListener(listener)
		s.awaitServing()
	}
	stop()
	t.Logf("%d calls, %d refused, %d failed", l.calls.Load(), l.refused.Load(), l.failures.Load())
}
