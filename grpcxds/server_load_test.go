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
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// The phases of the load test.
var phases = []string{"at rest", "Listener updates", "route flips", "control plane restarts", "certificate rotations", "deletions"}

// A load is calls without a pause, of all kinds.
type load struct {
	*site
	ctx   context.Context
	phase atomic.Int64

	calls, failures atomic.Int64

	mu    sync.Mutex
	times [][]time.Duration // of unary calls, by phase
}

// under puts a server under load until the function that is returned.
func (s *site) under(workers int, opts ...grpc.DialOption) (l *load, stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	l = &load{site: s, ctx: ctx, times: make([][]time.Duration, len(phases))}
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

// done counts a call.
func (l *load) done(what string, err error) {
	if err != nil && l.ctx.Err() != nil {
		return // the test is over
	}
	l.calls.Add(1)
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

// streams opens a stream, exchanges some messages, and closes it, over and over.
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
	for range 20 {
		if err := ss.Send(&testpb.StreamingOutputCallRequest{}); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, err := ss.Recv(); err != nil {
			return fmt.Errorf("in the middle: %w", err)
		}
	}
	_ = ss.CloseSend()
	if _, err := ss.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

// dials makes each call over a connection of its own.
func (l *load) dials(opts ...grpc.DialOption) {
	for l.ctx.Err() == nil {
		cc := l.channel(opts...)
		_, err := testpb.NewTestServiceClient(cc).EmptyCall(l.ctx, &testpb.Empty{})
		l.done("fresh dial", err)
		_ = cc.Close()
	}
}

// step waits until some calls more have been made.
func (l *load) step() {
	l.Helper()
	until := l.calls.Load() + 10
	l.eventually("more calls", func() bool { return l.calls.Load() >= until })
}

// enter begins a phase.
func (l *load) enter(phase string) {
	l.Helper()
	l.phase.Store(int64(slices.Index(phases, phase)))
}

// No call fails, whatever happens to the configuration.
func TestServerUnderLoad(t *testing.T) {
	w, v := newSecureWorld(t)
	conns := new(connections)
	s := w.serve(grpc.Creds(ServerCredentials(nil)), grpc.StatsHandler(conns), DrainGrace(time.Minute))
	listeners := []string{withTLS(s.listener(rds("a"))), withTLS(s.listener(rds("b"))), withTLS(s.listener(inline(anyRoute)))}
	routes := []string{allHosts, `virtual_hosts { domains: "*" routes { match { prefix: "/grpc.testing." } non_forwarding_action {} } }`}
	w.publishRoutes("a", routes[0])
	w.publishRoutes("b", routes[1])
	w.publishListener(listeners[0])
	s.awaitServing()
	l, stop := s.under(3, grpc.WithTransportCredentials(v.client()))
	steps := func(phase string, n int, f func(i int)) {
		t.Helper()
		l.enter(phase)
		for i := range n {
			f(i)
			l.step()
		}
	}

	steps("at rest", 200, func(int) {})
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
	steps("deletions", 20, func(i int) { // A88: what is in use stays
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
		t.Errorf("%d connections; 200 Listeners should have made more", n)
	}
	if n := len(s.events); n > 0 {
		t.Errorf("%d events; it served all the time", n)
	}
}
