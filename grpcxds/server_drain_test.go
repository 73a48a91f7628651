package grpcxds

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// counted runs a server and counts its connections. It gets a Listener with routes by name, one
// with inlined routes, and optionally a drain time.
func counted(t *testing.T, drain ...time.Duration) (*site, *connections) {
	t.Helper()
	w := newWorld(t)
	conns := new(connections)
	s := w.serveWith(func(c *ServerConfig) {
		for _, d := range drain {
			c.DrainTime = d
		}
	}, grpc.StatsHandler(conns))
	w.publishRoutes("routes", allHosts)
	w.publishListener(s.listener(rds("routes")))
	s.awaitServing()
	return s, conns
}

// nextListener publishes another Listener with the same effect.
func (s *site) nextListener() {
	s.Helper()
	text := s.listener(rds("routes"))
	s.generation++
	s.publishListener(strings.Replace(text, routerFilter, routerFilter+` stat_prefix: "`+strings.Repeat("x", s.generation)+`"`, 1))
}

// After a new Listener, new calls use new connections. Calls in flight continue.
func TestListenerUpdateDrains(t *testing.T) {
	s, conns := counted(t)
	c := s.dial()
	ss := s.openStream(c)
	s.nextListener()
	s.eventually("a second connection", func() bool { return s.call(c).Code() == codes.OK && conns.begun.Load() == 2 })
	ping(t, ss)
	if n := conns.ended.Load(); n > 0 {
		t.Errorf("%d connections ended under a call", n)
	}
	finish(t, ss)
	s.eventually("the old connection ends", func() bool { return conns.ended.Load() == 1 })
}

func TestGraceTimeEndsCalls(t *testing.T) {
	s, conns := counted(t, 50*time.Millisecond)
	c := s.dial()
	ss := s.openStream(c)
	s.nextListener()
	if _, err := ss.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v; want that the connection was closed", err)
	}
	s.eventually("a second connection", func() bool { return s.call(c).Code() == codes.OK && conns.begun.Load() == 2 })
}

// Neither other routes nor the same Listener drain connections.
func TestNothingElseDrains(t *testing.T) {
	s, conns := counted(t)
	c := s.dial()
	ss := s.openStream(c)
	s.publishRoutes("routes", `virtual_hosts { domains: "nobody" }`)
	s.eventually("new routes", func() bool { return s.call(c).Code() == codes.Unavailable })
	s.publishListener(s.listener(rds("routes"))) // another version, the same bytes
	s.publishRoutes("routes", allHosts)
	s.eventually("new routes", func() bool { return s.call(c).Code() == codes.OK })
	ping(t, ss)
	finish(t, ss)
	if n := conns.begun.Load(); n != 1 {
		t.Errorf("%d connections; want 1", n)
	}
	// Inlined routes are a part of the Listener.
	s.publishListener(s.listener(inline(anyRoute)))
	s.eventually("a second connection", func() bool { return s.call(c).Code() == codes.OK && conns.begun.Load() == 2 })
}

// A Listener waits for its routes. The previous one serves until then.
func TestListenerUpdateWaitsForItsRoutes(t *testing.T) {
	s, conns := counted(t)
	c := s.dial()
	ss := s.openStream(c)
	s.publishListener(s.listener(rds("others")))
	s.eventually("the others are asked for", func() bool {
		return slices.ContainsFunc(s.plane.Requests(), func(r *discoveryv3.DiscoveryRequest) bool {
			return slices.Contains(r.GetResourceNames(), "others")
		})
	})
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
	before := conns.begun.Load()
	s.publishRoutes("others", `virtual_hosts { domains: "nobody" }`)
	s.eventually("the new Listener is in use", func() bool { return s.call(c).Code() == codes.Unavailable })
	if conns.begun.Load() != before+1 {
		t.Errorf("%d connections more; want 1", conns.begun.Load()-before)
	}
	finish(t, ss)
}

// A client that connects and sends nothing delays the change no longer than the limit.
func TestSilentClientsDelayNobodyForLong(t *testing.T) {
	for name, stop := range map[string]func(*site){
		"update":       (*site).nextListener,
		"GracefulStop": func(s *site) { s.GracefulStop() },
		"Stop":         func(s *site) { s.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			s, conns := counted(t)
			c := s.dial()
			if st := s.call(c); st.Code() != codes.OK {
				t.Fatal(st)
			}
			silent, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			if _, err := silent.Read(make([]byte, 1)); err != nil {
				t.Fatal(err) // the server's settings
			}
			start := time.Now()
			stop(s)
			s.eventually("the other client is sent away", func() bool { return conns.ended.Load() == 1 })
			if _, err := io.Copy(io.Discard, silent); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the silent connection ends with %v", err)
			}
			if d := time.Since(start); d > 30*time.Second { // grpc's own limit is 120 s
				t.Errorf("it took %v", d)
			}
		})
	}
}

// A client that connects while generations change is served by one of them.
func TestNoDialFailsWhileListenersChange(t *testing.T) {
	s, _ := counted(t)
	ctx, cancel := context.WithCancel(s.ctx)
	var dials, failures atomic.Int64
	var dialers sync.WaitGroup
	for range 4 {
		dialers.Go(func() {
			for ctx.Err() == nil {
				if err := s.dialOnce(); err != nil {
					failures.Add(1)
					t.Errorf("a fresh dial failed: %v", err)
				}
				dials.Add(1)
			}
		})
	}
	for range 100 {
		s.nextListener()
		s.settle()
	}
	s.eventually("more dials than Listeners", func() bool { return dials.Load() > 100 })
	cancel()
	dialers.Wait()
	t.Logf("%d dials, %d failed", dials.Load(), failures.Load())
}

// dialOnce makes a call over a new connection.
func (s *site) dialOnce() error {
	cc := s.channel()
	defer cc.Close()
	_, err := testpb.NewTestServiceClient(cc).EmptyCall(s.ctx, &testpb.Empty{}, grpc.WaitForReady(false))
	return err
}

// settle waits until the client has acknowledged the newest Listener. It is then in use or about to
// be.
func (s *site) settle() {
	s.Helper()
	s.eventually("the Listener is acknowledged", func() bool {
		acked := 0
		for _, r := range s.plane.Requests() {
			if strings.HasSuffix(r.GetTypeUrl(), listenerMessage) && r.GetResponseNonce() != "" {
				acked++
			}
		}
		return acked > s.generation
	})
}
