package pool

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pick is a picker of one subchannel.
type pick struct{ balancer.SubConn }

func (p pick) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: p.SubConn}, nil
}

// A world is a Tree with a server, without an LB policy.
type world struct {
	*testing.T
	tree *Tree
	addr string
}

func newWorld(t *testing.T, p Protocol) *world {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	tree := NewTree(NewDialer(new(http.Transport), p), func() {}, estats.UnimplementedMetricsRecorder{})
	t.Cleanup(tree.Close)
	return &world{t, tree, s.Listener.Addr().String()}
}

// subConn returns a subchannel and its states.
func (w *world) subConn(addr string) (*SubConn, <-chan balancer.SubConnState) {
	w.Helper()
	states := make(chan balancer.SubConnState, 100)
	sc, err := w.tree.NewSubConn([]resolver.Address{{Addr: addr}}, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) { states <- s }})
	if err != nil {
		w.Fatal(err)
	}
	return sc.(*SubConn), states
}

// A policy of a program can give a subchannel no address. A subchannel always has one.
func TestSubchannelsHaveAddresses(t *testing.T) {
	w := newWorld(t, Auto)
	for _, none := range [][]resolver.Address{nil, {}} {
		if sc, err := w.tree.NewSubConn(none, balancer.NewSubConnOptions{}); sc != nil || err == nil {
			t.Errorf("without an address, the subchannel is %v, %v; want an error", sc, err)
		}
		sc, states := w.subConn(w.addr)
		w.tree.UpdateAddresses(sc, none)
		sc.Connect()
		w.await(states, connectivity.Ready)
	}
}

// await waits for a state.
func (w *world) await(states <-chan balancer.SubConnState, want connectivity.State) balancer.SubConnState {
	w.Helper()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	for {
		select {
		case s := <-states:
			if s.ConnectivityState == want {
				return s
			}
		case <-timer.C:
			w.Fatalf("the subchannel is never %v", want)
		}
	}
}

// TestNoRequestGetsAClosingConnection expects a connection that is about to close to refuse requests.
func TestNoRequestGetsAClosingConnection(t *testing.T) {
	for _, p := range []Protocol{HTTP1, HTTP2} {
		w := newWorld(t, p)
		sc, states := w.subConn(w.addr)
		sc.Connect()
		w.await(states, connectivity.Ready)
		c := sc.conns[0]
		c.busy.Add(closing)
		if c.reserve() {
			t.Errorf("protocol %d: a request gets a connection while it closes", p)
		}
		c.busy.Add(-closing)
		if !c.reserve() {
			t.Errorf("protocol %d: an open connection refuses a request", p)
		}
		c.closeUnused()
		if c.Err() != nil {
			t.Errorf("protocol %d: a connection with a request is closed", p)
		}
		c.Release()
		c.closeUnused()
		if c.Err() == nil {
			t.Errorf("protocol %d: a connection without a request stays open", p)
		}
	}
}

// TestPitfall13 expects a request whose endpoint was removed between pick and reservation to be picked for again.
func TestPitfall13(t *testing.T) {
	w := newWorld(t, HTTP1)
	gone, states := w.subConn(w.addr)
	gone.Connect()
	w.await(states, connectivity.Ready)
	w.tree.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pick{gone}})
	gone.Shutdown()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	leases := make(chan Lease, 1)
	go func() {
		l, err := w.tree.Acquire(balancer.PickInfo{Ctx: ctx}, false)
		if err != nil {
			t.Error(err)
		}
		leases <- l
	}()
	other, states := w.subConn(w.addr)
	other.Connect()
	w.await(states, connectivity.Ready)
	w.tree.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pick{other}})
	l := <-leases
	if l.conn == nil || l.owner != other {
		t.Fatal("the request did not get a connection of the endpoint that remains")
	}
	l.Release()
}

// TestStates expects a subchannel to be READY while it is connected, and to back off after a failure.
func TestStates(t *testing.T) {
	for _, p := range []Protocol{HTTP1, HTTP2} {
		w := newWorld(t, p)
		sc, states := w.subConn(w.addr)
		sc.Connect()
		w.await(states, connectivity.Connecting)
		w.await(states, connectivity.Ready)
		healthy := make(chan balancer.SubConnState, 1)
		sc.RegisterHealthListener(func(s balancer.SubConnState) { healthy <- s })
		w.await(healthy, connectivity.Ready)
		sc.mu.Lock()
		c := sc.conns[0]
		sc.mu.Unlock()
		if c.multiplexed != (p == HTTP2) {
			t.Errorf("protocol %d: the connection is multiplexed: %t", p, c.multiplexed)
		}
		c.close()
		w.await(states, connectivity.Idle)
		sc.Connect()
		w.await(states, connectivity.Ready)
		sc.Shutdown()
		w.await(states, connectivity.Shutdown)

		dead, states := w.subConn("127.0.0.1:1")
		dead.Connect()
		var failed *ConnectError
		if s := w.await(states, connectivity.TransientFailure); !errors.As(s.ConnectionError, &failed) || failed.Endpoint != "127.0.0.1:1" {
			t.Errorf("the error of a failed attempt is %v", s.ConnectionError)
		}
	}
}

// TestPause expects the back-off to grow up to its limit.
func TestPause(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: time.Second, 1: 1600 * time.Millisecond, 1000: 120 * time.Second} {
		if got := pause(failures); got < want*8/10 || got > want*12/10 {
			t.Errorf("the back-off after %d failures is %v, want about %v", failures, got, want)
		}
	}
}

// TestDrain expects a removed endpoint to keep the connection of a request until its response was read.
func TestDrain(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var open atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-release
	}))
	closed := make(chan struct{}, 10)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
			closed <- struct{}{}
		default:
		}
	}
	s.Start()
	defer s.Close()
	w := newWorld(t, HTTP1)
	sc, states := w.subConn(s.Listener.Addr().String())
	sc.Connect()
	w.await(states, connectivity.Ready)
	w.tree.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pick{sc}})
	l, err := w.tree.Acquire(balancer.PickInfo{Ctx: t.Context()}, false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://svc/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		resp, err := l.RoundTrip(r)
		if err == nil {
			err = resp.Body.Close()
		}
		done <- err
	}()
	<-entered
	sc.Shutdown()
	if n := open.Load(); n != 1 {
		t.Errorf("%d connections while a request is in flight, want one", n)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-closed
}

// TestDrainedConnectionCloses expects a connection to close after its last request, also if the request ends while another
// goroutine checks for requests.
func TestDrainedConnectionCloses(t *testing.T) {
	for range 300 {
		w := newWorld(t, HTTP1)
		sc, states := w.subConn(w.addr)
		sc.Connect()
		w.await(states, connectivity.Ready)
		c := sc.conns[0]
		if !c.reserve() {
			t.Fatal("a new connection refuses a request")
		}
		c.spent.Store(true)
		released := make(chan struct{})
		go func() {
			defer close(released)
			c.Release()
		}()
		for c.InFlight() > 0 {
			c.closeUnused()
		}
		<-released
		if c.Err() == nil {
			t.Fatal("the connection stays open")
		}
	}
}

// TestOnCloseOfTheNextLease expects the end of a lease to leave the function of the next one, which may begin before the
// RoundTrip of the first has returned.
func TestOnCloseOfTheNextLease(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &conn{raw: &rawConn{Conn: ours}}
	var called []string
	first := c.OnClose(func() { called = append(called, "first") })
	second := c.OnClose(func() { called = append(called, "second") })
	first()
	if err := c.raw.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(called, []string{"second"}) {
		t.Errorf("the end of the connection calls %v, want the function of the second lease", called)
	}
	second()
	if err := c.raw.Close(); err != nil || len(called) != 1 {
		t.Errorf("%v, and %v were called; want nothing more after the end of the lease", err, called)
	}
	c.OnClose(func() { called = append(called, "late") })
	if !slices.Equal(called, []string{"second", "late"}) {
		t.Errorf("%v were called, want a late function at once", called)
	}
}
