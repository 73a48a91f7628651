package server

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

// handshakes tracks the connections that were handed to a gRPC server and have not finished their handshakes. A
// connection first waits until the server accepts it, and then shakes hands.
//
// A grpc.Server that stops closes unaccepted connections without a byte. It waits for handshakes before it sends
// GOAWAY to any client. Therefore a draining filter chain first seals the handshakes and waits until the server has
// accepted all connections. Then it closes those that take too long.
type handshakes struct {
	mu      sync.Mutex
	open    map[*conn]struct{}
	waiting int           // connections in open that the server has not accepted
	sealed  bool          // begin refuses connections
	taken   chan struct{} // closed when sealed and no connection waits
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

// A conn is a connection of a gRPC server. The server's deadlines show its state: the server sets a deadline when it
// accepts the connection, and removes it after the handshake.
type conn struct {
	*security.Conn
	handshakes *handshakes
	state      atomic.Int32  // written under handshakes.mu
	open       *atomic.Int64 // counts the open connections
	closed     atomic.Bool
}

// begin wraps a connection for a server, and counts it until it is closed. It returns nil once the handshakes are
// sealed.
func (h *handshakes) begin(raw *security.Conn, open *atomic.Int64) *conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sealed {
		return nil
	}
	c := &conn{Conn: raw, handshakes: h, open: open}
	open.Add(1)
	h.open[c] = struct{}{}
	h.waiting++
	return c
}

// seal makes begin refuse connections. The channel is closed when the server has accepted all waiting connections.
func (h *handshakes) seal() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sealed = true
	h.check()
	return h.taken
}

// check closes taken once the handshakes are sealed and no connection waits.
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

// advance moves a connection to a state. States do not go back.
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
		_ = c.Close() // the connection is no longer needed
	}
}

// SetDeadline implements [net.Conn]. It follows the server's handshake.
func (c *conn) SetDeadline(t time.Time) error {
	if t.IsZero() {
		c.handshakes.advance(c, done)
	} else {
		c.handshakes.advance(c, shaking)
	}
	return c.Conn.SetDeadline(t)
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	c.handshakes.advance(c, done)
	return c.Conn.Close()
}

// count returns the number of connections that have not finished their handshake.
func (h *handshakes) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}
