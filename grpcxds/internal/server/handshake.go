package server

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
)

// handshakes knows the connections that were handed to gRPC servers and have not finished
// their handshakes: first they wait until the server takes them up, then they shake hands.
//
// A grpc.Server that stops closes the connections that it has not taken up, without a
// byte, and waits for those that shake hands before it tells any other to go away. So
// whoever stops one seals the handshakes, waits until none waits, and closes those that
// take too long.
type handshakes struct {
	mu      sync.Mutex
	open    map[*conn]struct{}
	waiting int           // of open: not taken up yet
	sealed  bool          // there will be no more
	taken   chan struct{} // closed when sealed and none waits
}

func newHandshakes() *handshakes {
	return &handshakes{open: make(map[*conn]struct{}), taken: make(chan struct{})}
}

// The states of a conn, in order.
const (
	waiting int32 = iota
	shaking
	done
)

// A conn is a connection that is handed to a gRPC server. The server tells how far it is:
// it sets a deadline when it takes the connection up, and removes it after the handshake.
type conn struct {
	*security.Conn
	handshakes *handshakes
	state      atomic.Int32 // written under handshakes.mu
}

// begin wraps a connection that is to be handed over; nil: no more are.
func (h *handshakes) begin(raw *security.Conn) *conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sealed {
		return nil
	}
	c := &conn{Conn: raw, handshakes: h}
	h.open[c] = struct{}{}
	h.waiting++
	return c
}

// seal has begin refuse from now on. The channel is closed when no connection waits to be
// taken up.
func (h *handshakes) seal() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sealed = true
	h.check()
	return h.taken
}

// check closes taken when it is time to.
func (h *handshakes) check() {
	if !h.sealed || h.waiting > 0 {
		return
	}
	select {
	case <-h.taken:
	default:
		close(h.taken)
	}
}

// advance notes that a connection has got as far as a state. States do not go back.
func (h *handshakes) advance(c *conn, to int32) {
	if c.state.Load() >= to {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	from := c.state.Load()
	if from >= to {
		return
	}
	c.state.Store(to)
	if from == waiting {
		h.waiting--
		h.check()
	}
	if to == done {
		delete(h.open, c)
	}
}

// closeAll closes the connections whose handshakes are not finished.
func (h *handshakes) closeAll() {
	h.mu.Lock()
	late := slices.Collect(maps.Keys(h.open))
	h.mu.Unlock()
	for _, c := range late {
		_ = c.Close() // it is not needed any more
	}
}

// SetDeadline is that of [security.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	if t.IsZero() {
		c.handshakes.advance(c, done)
	} else {
		c.handshakes.advance(c, shaking)
	}
	return c.Conn.SetDeadline(t)
}

// Close is that of [security.Conn].
func (c *conn) Close() error {
	c.handshakes.advance(c, done)
	return c.Conn.Close()
}
