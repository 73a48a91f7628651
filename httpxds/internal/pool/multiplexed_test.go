package pool

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
)

// multiplexed returns a subchannel with a connection of HTTP/2 that has had a request.
func (w *world) multiplexed() (*SubConn, *conn, <-chan balancer.SubConnState) {
	w.Helper()
	sc, states := w.subConn(w.addr)
	sc.Connect()
	w.await(states, connectivity.Ready)
	w.tree.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pick{sc}})
	sc.mu.Lock()
	c := sc.conns[0]
	sc.mu.Unlock()
	w.request(c)
	return sc, c, states
}

// request sends a request on a connection. The response comes after the limit of the connection's streams.
func (w *world) request(c *conn) {
	w.Helper()
	if !c.reserve() {
		w.Fatal("an open connection refuses a request")
	}
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://svc/", http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	resp, err := c.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	_ = resp.Body.Close()
}

// soon waits until a condition holds.
func (w *world) soon(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			w.Fatal(what)
		}
	}
}

// isFull reports whether the pool leaves a connection out.
func (c *conn) isFull() bool {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	return c.full
}

// TestFullConnection expects that a connection of HTTP/2 has no state hook until it is full, and that it then takes requests again
// when it has room.
func TestFullConnection(t *testing.T) {
	w := newWorld(t, HTTP2)
	_, c, _ := w.multiplexed()
	if c.watched.Load() || c.isFull() {
		t.Errorf("after a request, the connection is watched: %t, full: %t; want neither", c.watched.Load(), c.isFull())
	}
	n := 0
	for ; c.reserve(); n++ {
		if c.isFull() {
			t.Fatalf("the connection is full with %d requests, but takes another", n)
		}
	}
	if !c.isFull() {
		t.Errorf("the connection with %d requests, which refuses another, is not full", n)
	}
	c.Release()
	w.soon("a full connection that has room again is left out", func() bool { return !c.isFull() })
	w.request(c)
	for range n - 1 {
		c.Release()
	}
}

// TestClosedConnection expects a subchannel to become IDLE when the server closes its connection of HTTP/2, which has no hook.
func TestClosedConnection(t *testing.T) {
	w := newWorld(t, HTTP2)
	sc, c, states := w.multiplexed()
	if c.watched.Load() {
		t.Error("the connection has a state hook")
	}
	if err := c.raw.Conn.Close(); err != nil { // as a network does
		t.Error(err)
	}
	w.await(states, connectivity.Idle)
	sc.mu.Lock()
	n := len(sc.conns)
	sc.mu.Unlock()
	if n > 0 {
		t.Errorf("the subchannel has %d connections; want none", n)
	}
}

// TestLastResponseOfHTTP2 expects a connection of a removed endpoint, and one that has had its last request, to stay open until the
// body of the response has ended, and to close then, although it had no state hook before.
func TestLastResponseOfHTTP2(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		if r.URL.Path == "/held" {
			<-release
		}
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	w := newWorld(t, HTTP2)
	w.addr = s.Listener.Addr().String()
	last := new(breaker.Circuit)
	last.Set(new(breaker.Set).Acquire("c", ""), breaker.Limits{PerConnection: 2})
	for why, circuit := range map[string]*breaker.Circuit{"removed": nil, "spent": last} {
		sc, c, _ := w.multiplexed()
		sc.circuit = circuit
		if !c.reserve() {
			t.Fatal("an open connection refuses a request")
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://svc/held", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if circuit == nil {
			sc.Shutdown()
		}
		if c.Err() != nil {
			t.Errorf("%s: the connection is closed during a response", why)
		}
		release <- struct{}{}
		w.soon(why+": the connection stays open after its last response", func() bool { return c.Err() != nil })
		_ = resp.Body.Close()
		sc.circuit = nil
	}
}

// TestWaitersOfAFailedAttempt expects every request that waits for a connection to get the error of an attempt, even if another
// connection is open: that may have no room for as long as its requests take.
func TestWaitersOfAFailedAttempt(t *testing.T) {
	w := newWorld(t, HTTP2)
	sc, c, _ := w.multiplexed()
	sc.mu.Lock()
	c.full = true // as after GOAWAY, with a stream that does not end
	sc.mu.Unlock()
	sc.UpdateAddresses([]resolver.Address{{Addr: "127.0.0.1:1"}})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const requests = 5
	errs := make(chan error, requests)
	for range requests {
		go func() {
			_, err := sc.acquire(ctx, false)
			errs <- err
		}()
	}
	for range requests {
		var failed *ConnectError
		if err := <-errs; !errors.As(err, &failed) {
			t.Errorf("a request that waits for a connection has the error %v; want that of the attempt", err)
		}
	}
}

// TestOneConnectionWakesOneRequest expects a new connection of HTTP/1.1 to wake one of the requests that wait. Another one would
// lose its place, and its share of the limit of pending requests.
func TestOneConnectionWakesOneRequest(t *testing.T) {
	w := newWorld(t, HTTP1)
	sc, states := w.subConn(w.addr)
	sc.Connect()
	w.await(states, connectivity.Ready)
	first, err := sc.acquire(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	c, err := w.tree.dialer.dial(t.Context(), resolver.Address{Addr: w.addr}, false)
	if err != nil {
		t.Fatal(err)
	}
	sc.mu.Lock()
	sc.dialing++
	sc.waiters = []*waiter{{wake: make(chan error, 1)}, {wake: make(chan error, 1)}}
	sc.mu.Unlock()
	sc.dialed(c, nil)
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if n := len(sc.waiters); n != 1 {
		t.Errorf("after a connection, %d of 2 requests wait; want 1", n)
	}
	sc.waiters = nil
}

// TestLoweredLimit expects a connection that has had more requests than a new limit allows to close after them.
func TestLoweredLimit(t *testing.T) {
	w := newWorld(t, HTTP2)
	sc, c, _ := w.multiplexed()
	for range 2 {
		if !c.reserve() {
			t.Fatal("an open connection refuses a request")
		}
	}
	circuit := new(breaker.Circuit)
	circuit.Set(new(breaker.Set).Acquire("c", ""), breaker.Limits{PerConnection: 1})
	sc.circuit = circuit
	if c.reserve() {
		t.Error("the connection takes a fourth request; want the limit of one")
	}
	c.Release()
	if c.Err() != nil {
		t.Error("the connection is closed before its last request has ended")
	}
	c.Release()
	w.soon("the connection stays open after its requests", func() bool { return c.Err() != nil })
}

// A slowConn closes when the channel is closed.
type slowConn struct {
	net.Conn
	closing, release chan struct{}
}

// Close implements [net.Conn].
func (c *slowConn) Close() error {
	select {
	case c.closing <- struct{}{}:
		<-c.release
	default: // it closes already
	}
	return c.Conn.Close()
}

// TestSlowCloseOfOneConnection expects the subchannel to serve requests while one of its connections closes slowly, as TLS does
// if the endpoint does not read. net/http closes a connection of HTTP/1.1 under its lock.
func TestSlowCloseOfOneConnection(t *testing.T) {
	w := newWorld(t, HTTP1)
	slow := &slowConn{closing: make(chan struct{}, 1), release: make(chan struct{})}
	w.tree.dialer.dial0 = func(ctx context.Context, network, addr string) (nc net.Conn, err error) {
		slow.Conn, err = new(net.Dialer).DialContext(ctx, network, addr)
		return slow, err
	}
	sc, states := w.subConn(w.addr)
	sc.Connect()
	w.await(states, connectivity.Ready)
	sc.mu.Lock()
	c := sc.conns[0]
	sc.mu.Unlock()
	closed, changed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		_ = c.Close()
	}()
	<-slow.closing
	go func() {
		defer close(changed)
		c.changed(c.ClientConn) // as after a request that has just ended
	}()
	busy, tick := 0, time.NewTicker(100*time.Microsecond)
	defer tick.Stop()
	for range 200 {
		<-tick.C
		if !sc.mu.TryLock() {
			busy++
			continue
		}
		sc.mu.Unlock()
	}
	if busy > 100 {
		t.Error("the lock of the subchannel is held while a connection closes")
	}
	close(slow.release)
	<-closed
	<-changed
}
