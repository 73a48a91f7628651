package pool

import (
	"context"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
)

// A conn is one connection to the endpoint of a SubConn.
type conn struct {
	*http.ClientConn
	owner       *SubConn
	raw         *rawConn
	endpoint    string
	secure      bool // TLS
	multiplexed bool // HTTP/2

	// busy counts the leases before their response. The state hook may run before RoundTrip has the response of a request
	// that is over. It is negative while closeUnused closes the connection.
	busy atomic.Int64
	// spent says that the connection has had as many requests as the cluster allows. It closes after them.
	spent atomic.Bool
	// answered says that the connection has had a response or an error.
	answered atomic.Bool
	// watched says that the state hook of a connection of HTTP/2 is set.
	watched atomic.Bool
	unit    breaker.Unit // counts the connection

	// The fields below are guarded by owner.mu.
	isIdle bool
	since  time.Time // of being idle
	full   bool      // an HTTP/2 connection has no room for a request
	// The server of an HTTP/2 connection may not have told how many streams it takes. Until then, only one request has the
	// connection: net/http would let another one wait for the end of a stream.
	untold bool
	lent   bool // an untold connection has had its request
}

// room reports whether the connection may have room for a request of HTTP/2. The caller holds owner.mu.
func (c *conn) room() bool {
	return c.multiplexed && !c.full && !c.spent.Load() && (!c.untold || !c.lent)
}

const (
	// assumedStreams is the number of streams that net/http assumes before the server's SETTINGS.
	assumedStreams = 100
	// settingsTime is how long a connection waits for SETTINGS before it has as many requests as net/http allows.
	settingsTime = time.Second
	settingsPoll = time.Millisecond
)

// told reports whether the server has told how many streams it takes, if that differs from the assumption of net/http.
func (c *conn) told() bool {
	before := c.Available()
	sum := before + c.InFlight()
	return c.Available() == before && sum != assumedStreams
}

// learn waits until the server has told how many streams it takes, by its SETTINGS or by a response. net/http calls no hook for a
// number below the assumed one.
func (s *SubConn) learn(c *conn) {
	tick := time.NewTicker(settingsPoll)
	defer tick.Stop()
	for end := time.Now().Add(settingsTime); time.Now().Before(end) && c.Err() == nil && !c.answered.Load() && !c.told(); {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.untold = false
	s.wakeAll(nil)
}

// RoundTrip implements [http.RoundTripper]. The connection must be reserved.
func (c *conn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.ClientConn.RoundTrip(r)
	if !c.answered.Load() {
		c.answered.Store(true)
	}
	c.unlease()
	return resp, err
}

// Endpoint returns the address of the endpoint.
func (c *conn) Endpoint() string { return c.endpoint }

// Secure reports whether the connection uses TLS.
func (c *conn) Secure() bool { return c.secure }

// Multiplexed reports whether the connection speaks HTTP/2.
func (c *conn) Multiplexed() bool { return c.multiplexed }

// Conn returns the network connection, for httptrace.
func (c *conn) Conn() net.Conn { return c.raw }

// Reused reports whether the connection has had a request before.
func (c *conn) Reused() bool { return c.raw.requests.Load() > 1 }

// Written returns the number of bytes that were written to the connection.
func (c *conn) Written() int64 { return c.raw.written.Load() }

// OnClose makes a connection of HTTP/1.1 call f when it closes, or now if it is closed, until remove is called. A lease calls it
// at most once, and a later lease replaces f: the connection may have its next lease before RoundTrip has returned. net/http
// waits until the writer of a request of HTTP/1.1 has ended before it reports that the connection is closed. f ends a writer that
// waits for a body.
func (c *conn) OnClose(f func()) (remove func()) { return c.raw.onClose(f) }

// A rawConn counts the bytes that are written, so that a request of which nothing was written can be sent again.
type rawConn struct {
	net.Conn
	written  atomic.Int64
	requests atomic.Int64

	mu     sync.Mutex
	closed bool
	hook   *func() // of the last lease with one, or of the pool for HTTP/2; nil: none
}

func (c *rawConn) onClose(f func()) (remove func()) {
	hook := &f
	c.mu.Lock()
	c.hook = hook
	closed := c.closed
	c.mu.Unlock()
	if closed {
		f()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.hook == hook { // not that of the next lease
			c.hook = nil
		}
	}
}

// Close implements [net.Conn].
func (c *rawConn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	c.closed = true
	hook := c.hook
	c.mu.Unlock()
	if hook != nil {
		(*hook)()
	}
	return err
}

// Write implements [net.Conn].
func (c *rawConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

// dial starts an attempt to connect, which the unit counts. The caller holds mu.
func (s *SubConn) dial(unit breaker.Unit) {
	s.dialing++
	a := s.addresses[0]
	go func() {
		c, err := s.tree.dialer.dial(s.ctx, a)
		if err != nil {
			unit.Release()
		} else {
			c.unit = unit
		}
		if s.dialed(c, err) {
			s.learn(c)
		}
	}()
}

// dialed handles the result of an attempt. It reports whether the server has yet to tell how many streams the connection takes.
func (s *SubConn) dialed(c *conn, err error) (untold bool) {
	if err == nil {
		c.owner = s
		if !c.multiplexed {
			c.SetStateHook(c.changed) // before a request has the connection: the hook does not report earlier changes
		}
	}
	s.mu.Lock()
	s.dialing--
	switch {
	case err != nil:
		s.failed(&ConnectError{s.addresses[0].Addr, s.circuit, err})
		s.mu.Unlock()
		s.finish()
		return false
	case s.state == connectivity.Shutdown:
		s.mu.Unlock()
		_ = c.Close() // no request has it
		c.unit.Release()
		s.finish()
		return false
	}
	untold = c.multiplexed && !c.told()
	c.untold = untold
	s.conns = append(s.conns, c)
	s.failures = 0
	if s.state != connectivity.Ready {
		s.set(balancer.SubConnState{ConnectivityState: connectivity.Ready})
	}
	s.offer(c)
	s.mu.Unlock()
	if c.multiplexed {
		c.raw.onClose(func() { s.lost(c) }) // at the end: it may call back at once
	} else if c.Err() != nil {
		s.lost(c) // the hook may have run before the connection was one of the subchannel
	}
	return untold
}

// watch sets the state hook of a connection of HTTP/2. One of HTTP/1.1 always has it. net/http would run the one of HTTP/2 several
// times for each request, under the locks of the connection. Therefore a connection of HTTP/2 has it only from the time when it
// was full, or when it is to close after its requests.
func (c *conn) watch() {
	if !c.multiplexed || c.watched.Swap(true) {
		return
	}
	c.SetStateHook(c.changed)
	c.changed(c.ClientConn) // the hook does not report earlier changes
}

// changed is the state hook of the connection.
func (c *conn) changed(*http.ClientConn) {
	if c.Err() != nil {
		c.owner.lost(c)
		return
	}
	s := c.owner
	room := c.multiplexed || c.Available() > 0 // without the lock: net/http closes connections of HTTP/1.1 under its own
	s.mu.Lock()
	if c.multiplexed {
		room = c.Available() > 0 // under the lock, so that the newest state is stored last
		c.full = !room
	}
	ending := s.state == connectivity.Shutdown || c.spent.Load()
	if room && !ending {
		s.offer(c)
	}
	s.mu.Unlock()
	if ending {
		c.closeUnused()
	}
}

// offer makes a connection available to requests. The caller holds mu.
func (s *SubConn) offer(c *conn) {
	if !c.multiplexed && !c.isIdle {
		c.isIdle, c.since = true, time.Now()
		s.idle = append(s.idle, c)
		s.setSweep()
	}
	if c.multiplexed {
		s.wakeAll(nil)
	} else {
		s.wakeOne(nil)
	}
}

// unlease ends a lease that has its response, or that the connection has refused.
func (c *conn) unlease() {
	c.busy.Add(-1)
	if c.ending() {
		c.closeUnused()
	}
}

// Release ends a lease without a request.
func (c *conn) Release() {
	c.ClientConn.Release()
	c.unlease()
}

// ending reports whether the connection closes after its requests.
func (c *conn) ending() bool { return c.owner.draining.Load() || c.spent.Load() }

// reserve reserves the connection for a request. If it returns false, the connection has no room, or is closed.
func (c *conn) reserve() bool {
	most := c.owner.circuit.PerConnection()
	open := c.busy.Add(1) > 0 // first, so that a request above the limit does not close it before the last one has reserved it
	had := c.raw.requests.Add(1)
	if most > 0 && had >= most {
		c.spent.Store(true)
		defer c.watch()
	}
	if open && (most <= 0 || had <= most) && c.Reserve() == nil {
		return true
	}
	c.raw.requests.Add(-1)
	c.unlease()
	if c.Err() != nil {
		c.owner.lost(c)
		return false
	}
	c.owner.mu.Lock()
	c.full = c.multiplexed && c.Available() == 0
	c.owner.mu.Unlock()
	c.watch()
	return false
}

// lost removes a connection that is closed.
func (s *SubConn) lost(c *conn) {
	s.mu.Lock()
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(s.conns, i, i+1)
		c.unit.Release()
	}
	if i := slices.Index(s.idle, c); i >= 0 {
		s.idle = slices.Delete(s.idle, i, i+1)
	}
	c.isIdle = false
	if len(s.conns) == 0 && s.state == connectivity.Ready {
		s.set(balancer.SubConnState{ConnectivityState: connectivity.Idle})
		s.wakeAll(balancer.ErrNoSubConnAvailable)
	} else if s.state == connectivity.Ready && len(s.waiters) > 0 {
		s.dialMore()
	}
	s.mu.Unlock()
	s.finish()
}

// close closes the connection and removes it.
func (c *conn) close() {
	_ = c.Close() // the connection is of no further use
	c.owner.lost(c)
}

// closing is added to busy while closeUnused decides, so that no request gets a connection that closes.
const closing = math.MinInt32

// closeUnused closes the connection if it has no request.
func (c *conn) closeUnused() {
	for c.busy.CompareAndSwap(0, closing) {
		if c.InFlight() == 0 {
			c.close()
			return
		}
		c.busy.Add(-closing)
		if c.InFlight() > 0 {
			return // the end of the last request calls closeUnused again
		}
	}
}

// Broken closes a connection whose request has failed in a way that leaves it unusable.
func (c *conn) Broken() {
	if c.Err() != nil {
		c.owner.lost(c)
	}
}

// setSweep sets the timer that closes idle connections. The caller holds mu.
func (s *SubConn) setSweep() {
	if d := s.tree.dialer.IdleTimeout; d > 0 && s.sweep == nil && len(s.idle) > 1 {
		s.sweep = time.AfterFunc(d, func() {
			s.mu.Lock()
			s.sweep = nil
			s.mu.Unlock()
			s.closeIdle(d)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.state == connectivity.Ready {
				s.setSweep()
			}
		})
	}
}

// closeIdle closes connections that were idle for a time. It keeps one connection, so that the endpoint stays connected.
func (s *SubConn) closeIdle(d time.Duration) {
	s.mu.Lock()
	var old []*conn
	for i := 0; i < len(s.idle); {
		c := s.idle[i]
		if len(s.conns)-len(old) <= 1 || time.Since(c.since) < d {
			i++
			continue
		}
		s.idle, c.isIdle = slices.Delete(s.idle, i, i+1), false
		old = append(old, c)
	}
	s.mu.Unlock()
	for _, c := range old {
		c.closeUnused()
	}
}

// noServices is the connection of producers. It has no services.
type noServices struct{}

var errNoServices = status.Error(codes.Unimplemented, "httpxds: HTTP endpoints have no services of gRPC")

// Invoke implements [grpc.ClientConnInterface].
func (noServices) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return errNoServices
}

// NewStream implements [grpc.ClientConnInterface].
func (noServices) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNoServices
}
