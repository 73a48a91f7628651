package httpxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/httpxds"
)

// A gate is a handler that holds requests until it is opened. It counts them.
type gate struct {
	entered chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{make(chan struct{}, 100), make(chan struct{})} }

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.entered <- struct{}{}
	<-g.open
	_, _ = io.WriteString(w, "ok")
}

// limit returns a limit of the only cluster of the only target.
func (w *world) limit(name string) dataplane.Limit {
	w.Helper()
	targets, err := w.env.Targets(soon(w))
	if err != nil {
		w.Fatal(err)
	}
	for _, target := range targets {
		for _, c := range target.Clusters {
			for _, l := range c.Leaves {
				for _, limit := range l.Limits {
					if limit.Name == name {
						return limit
					}
				}
			}
		}
	}
	return dataplane.Limit{}
}

// Requests above the limit of connections wait for one, up to the limit of pending requests. Others fail with Overflow.
func TestLimitOfConnections(t *testing.T) {
	w := newWorld(t)
	g := newGate()
	w.cluster("c", `circuit_breakers { thresholds { max_connections { value: 1 } max_pending_requests { value: 1 } } }`, serve(t, g.ServeHTTP))
	w.routes("%s", to("c"))
	rt := w.transport(httpxds.WithProtocol(httpxds.HTTP1))
	results := make(chan error, 2)
	send := func() {
		body, err := get(t, rt, "http://svc/")
		if err == nil && body != "ok" {
			err = errors.New(body)
		}
		results <- err
	}
	go send()
	<-g.entered
	go send()
	until(t, func() (bool, string) {
		l := w.limit("pending requests")
		return l.Used == 1 && l.Max == 1, l.String()
	})
	var e *httpxds.Error
	if body, err := get(t, rt, "http://svc/"); !errors.As(err, &e) || e.Reason != httpxds.Overflow {
		t.Errorf("a request above the limit of pending requests: %q, %v; want Overflow", body, err)
	}
	if l := w.limit("connections"); l.Used != 1 || l.Max != 1 || l.Refused == 0 {
		t.Errorf("the limit of connections is %v; want 1 in use, and others refused", l)
	}
	if l := w.limit("pending requests"); l.Refused != 1 {
		t.Errorf("the limit of pending requests is %v; want 1 refused", l)
	}
	close(g.open)
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("a request within the limits: %v", err)
		}
	}
	if l := w.limit("pending requests"); l.Used != 0 {
		t.Errorf("the limit of pending requests is %v after all requests; want none in use", l)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

// Requests that wait for the first connection of a cluster are pending.
func TestPendingWhileConnecting(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", `circuit_breakers { thresholds { max_pending_requests { value: 1 } } }`, "127.0.0.1:1")
	w.routes("%s", to("c"))
	dialing, dial := make(chan struct{}, 100), make(chan struct{})
	rt := w.transport(httpxds.WithBase(&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dialing <- struct{}{}
		<-dial
		return nil, errors.New("refused")
	}}))
	first := make(chan error)
	go func() {
		_, err := get(t, rt, "http://svc/")
		first <- err
	}()
	<-dialing
	until(t, func() (bool, string) {
		l := w.limit("pending requests")
		return l.Used == 1, l.String()
	})
	var e *httpxds.Error
	if body, err := get(t, rt, "http://svc/"); !errors.As(err, &e) || e.Reason != httpxds.Overflow {
		t.Errorf("a second request that waits: %q, %v; want Overflow", body, err)
	}
	close(dial)
	if err := <-first; err == nil {
		t.Error("the first request succeeds, although nothing is listening")
	}
}

// Connections close after as many requests as the cluster allows.
func TestRequestsPerConnection(t *testing.T) {
	for protocol, proto := range protocols {
		t.Run(proto, func(t *testing.T) {
			w := newWorld(t)
			var mu sync.Mutex
			requests := make(map[string]int) // by the address of the client
			var open atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				requests[r.RemoteAddr]++
				_, _ = io.WriteString(rw, "body")
			}))
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetHTTP1(true)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				switch state {
				case http.StateNew:
					open.Add(1)
				case http.StateClosed:
					open.Add(-1)
				default:
				}
			}
			s.Start()
			defer s.Close()
			w.cluster("c", `max_requests_per_connection { value: 3 }`, s.Listener.Addr().String())
			w.routes("%s", to("c"))
			rt := w.transport(httpxds.WithProtocol(protocol))
			var wait sync.WaitGroup
			for range 4 {
				wait.Go(func() {
					for range 10 {
						if _, err := get(t, rt, "http://svc/"); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wait.Wait()
			total := 0
			mu.Lock()
			defer mu.Unlock()
			for _, n := range requests {
				if total += n; n > 3 {
					t.Errorf("a connection had %d requests; want at most 3", n)
				}
			}
			if total != 40 {
				t.Errorf("the endpoint got %d requests; want 40", total)
			}
			until(t, func() (bool, string) { // those that had 3 requests are closed
				used := w.limit("connections").Used
				return open.Load() <= used && used <= 5, fmt.Sprint(open.Load(), used)
			})
		})
	}
}

// Retries above the limit of a cluster are not made. The request has its last response.
func TestLimitOfRetries(t *testing.T) {
	for limits, want := range map[string]int64{
		`max_retries { value: 0 }`: 1,
		`max_retries { value: 1 }`: 3,
		`max_retries { value: 0 } retry_budget { budget_percent { value: 100 } min_retry_concurrency { value: 0 } }`: 3,
		`max_retries { value: 9 } retry_budget { budget_percent { value: 0 } min_retry_concurrency { value: 0 } }`:   1,
	} {
		w := newWorld(t)
		var attempts atomic.Int64
		w.cluster("c", fmt.Sprintf(`circuit_breakers { thresholds { %s } }`, limits), serve(t, func(w http.ResponseWriter, _ *http.Request) {
			attempts.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "busy")
		}))
		w.routes(`routes { match { prefix: "" } route { cluster: "c" retry_policy { retry_on: "5xx" num_retries { value: 2 } retry_back_off { base_interval { nanos: 1000000 } } } } }`)
		body, err := get(t, w.transport(), "http://svc/")
		if err != nil || body != "busy" || attempts.Load() != want {
			t.Errorf("%s: %q, %v after %d attempts; want the response after %d", limits, body, err, attempts.Load(), want)
		}
		if l := w.limit("retries"); l.Used != 0 || (l.Refused == 0) != (want == 3) {
			t.Errorf("%s: the limit is %v", limits, l)
		}
	}
}

// Clients of one environment share the limits of a cluster.
func TestLimitsAreShared(t *testing.T) {
	w := newWorld(t)
	g := newGate()
	w.cluster("c", `circuit_breakers { thresholds { max_connections { value: 2 } max_pending_requests { value: 0 } } }`, serve(t, g.ServeHTTP))
	w.routes("%s", to("c"))
	a, b := w.transport(), w.transport()
	for _, rt := range []*httpxds.Transport{a, b} { // one connection each
		if err := rt.Ready(soon(t)); err != nil {
			t.Fatal(err)
		}
	}
	results := make(chan error, 2)
	for _, rt := range []*httpxds.Transport{a, b} {
		go func() {
			_, err := get(t, rt, "http://svc/")
			results <- err
		}()
		<-g.entered
	}
	if l := w.limit("connections"); l.Used != 2 {
		t.Errorf("the limit of connections is %v; want 2 in use by both clients", l)
	}
	if _, err := get(t, a, "http://svc/"); err == nil || !strings.Contains(err.Error(), "too many requests wait for a connection") {
		t.Errorf("a request above both limits: %v", err)
	}
	close(g.open)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
