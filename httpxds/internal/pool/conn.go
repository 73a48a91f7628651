package pool

import (
	"math"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

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
	// hooked says that the state hook runs.
	hooked atomic.Bool
	// watched says that the state hook of a connection of HTTP/2 is set.
	watched atomic.Bool
	unit    breaker.Unit // counts the connection
	// forUpgrade says that the connection was opened for an upgrade, beside those of HTTP/2.
	forUpgrade bool

	// The fields below are guarded by owner.mu.
	isIdle bool
	since  time.Time // of being idle
	swept  int64     // the requests of a connection of HTTP/2 at the last sweep
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

// Failed reports whether the network or the endpoint has ended the connection. It returns false if net/http closed the
// connection because of a request that it could not write.
func (c *conn) Failed() bool { return c.raw.failed.Load() }

// dial starts an attempt to connect, which the unit counts. The caller holds mu.
func (s *SubConn) dial(unit breaker.Unit) {
	s.dialing++
	a := s.addresses[0]
	go func() {
		c, err := s.tree.dialer.dial(s.ctx, a, false)
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
	c.untold, s.http2 = untold, c.multiplexed
	s.conns = append(s.conns, c)
	s.setSweep()
	s.failures = 0
	if s.state != connectivity.Ready {
		s.set(balancer.SubConnState{ConnectivityState: connectivity.Ready})
	}
	extra := s.offer(c)
	s.mu.Unlock()
	extra.drop()
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
	c.hooked.Store(true)
	defer c.hooked.Store(false)
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
	var extra *conn
	if room && !ending {
		extra = s.offer(c)
	}
	s.mu.Unlock()
	extra.drop()
	if ending {
		c.closeUnused()
	}
}

// offer makes a connection available to requests. It returns the connection to drop if more are idle than the limit allows, or
// nil. The caller holds mu.
func (s *SubConn) offer(c *conn) (extra *conn) {
	if c.multiplexed {
		s.wakeAll(nil)
		return nil
	}
	if !c.isIdle {
		c.isIdle, c.since = true, time.Now()
		s.idle = append(s.idle, c)
	}
	if most := s.tree.dialer.MaxIdle; most > 0 && len(s.idle) > most && len(s.waiters) == 0 {
		extra = s.idle[0]
		s.idle, extra.isIdle = slices.Delete(s.idle, 0, 1), false
	}
	s.wakeOne(nil)
	return extra
}

// drop closes a connection unless a request has it. A nil connection is none.
func (c *conn) drop() {
	if c != nil {
		c.closeUnused()
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
	most := c.owner.perConnection()
	open := c.busy.Add(1) > 0 // first, so that a request above the limit does not close it before the last one has reserved it
	had := c.raw.requests.Add(1)
	if most > 0 && had >= most {
		c.spent.Store(true)
		defer c.watch()
	}
	if open && (most <= 0 || had <= most) && c.Reserve() == nil {
		if !c.multiplexed && c.hooked.Load() {
			go c.lookAgain()
		}
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

// lookAgain calls the state hook once more after its run. net/http calls it for no request that begins and ends during a run: the
// connection would be available, and requests would wait for it. If another request has reserved the connection in the meantime, it
// does not get it a second time: Reserve fails.
func (c *conn) lookAgain() {
	tick := time.NewTicker(settingsPoll)
	defer tick.Stop()
	for runs := true; runs; runs = c.hooked.Load() {
		<-tick.C
	}
	<-tick.C // net/http notes the end of the run after that
	c.changed(c.ClientConn)
}

// lost removes a connection that is closed.
func (s *SubConn) lost(c *conn) {
	s.mu.Lock()
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(s.conns, i, i+1)
		c.free()
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
	c.raw.fail()
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
