package client

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
)

// idleTime is how long a pool keeps a connection that nobody uses (gRFC A47 expects 5 to 15 min).
const idleTime = 10 * time.Minute

// A Pool owns connections to control planes. Server entries with equal keys share one (gRFC A47).
// It consists of several if the server allows few streams on each (see package grpctransport). The
// pool makes a connection when it is first needed, and closes it after 10 min without use.
// It closes the connection to a fallback server earlier: as soon as a better server has taken over
// and nobody else uses it (gRFC A71). A Pool is safe for concurrent use.
type Pool struct {
	transport transport.Transport
	idle      time.Duration

	mu     sync.Mutex
	conns  map[string]*pooled
	closed bool
}

type pooled struct {
	pool  atomic.Pointer[Pool] // nil after Close
	key   string
	conn  transport.Conn
	users int
	uses  int         // number of acquisitions, to distinguish idle periods
	brief bool        // do not keep it for later; until it is acquired again
	timer *time.Timer // runs while there are no users
}

// NewPool returns a pool without connections. A nil transport is grpctransport.New(). Close the
// pool after the clients that use it.
func NewPool(t transport.Transport) *Pool {
	if t == nil {
		t = grpctransport.New()
	}
	return &Pool{transport: t, idle: idleTime, conns: make(map[string]*pooled)}
}

// delta reports whether the transport knows that a server speaks the incremental variant.
func (p *Pool) delta(server *bootstrap.Server) bool {
	t, ok := p.transport.(transport.DeltaTransport)
	return ok && t.Delta(server)
}

// giveBack releases a connection to its pool. With keep, the pool keeps it for the idle time.
// Without, the pool closes it as soon as nobody uses it. Only the first call has an effect.
type giveBack func(keep bool)

// acquire returns the connection to a server, and the function that releases it.
func (p *Pool) acquire(server *bootstrap.Server) (transport.Conn, giveBack, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, fmt.Errorf("client: pool: %w", resource.ErrClosed)
	}
	key := server.Key()
	c, ok := p.conns[key]
	if !ok {
		conn, err := p.transport.Dial(server)
		if err != nil {
			return nil, nil, err
		}
		c = &pooled{key: key, conn: conn}
		c.pool.Store(p)
		p.conns[key] = c
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.users++
	c.uses++
	c.brief = false
	var once sync.Once
	return c.conn, func(keep bool) { once.Do(func() { p.release(c, keep) }) }, nil
}

func (p *Pool) release(c *pooled, keep bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.users--
	c.brief = c.brief || !keep
	if c.users > 0 || p.closed {
		return
	}
	idle := p.idle
	if c.brief {
		idle = 0
	}
	uses := c.uses
	c.timer = time.AfterFunc(idle, func() { c.retire(uses) })
}

// retire closes a connection whose idle time is over, unless it was used again.
func (c *pooled) retire(uses int) {
	p := c.pool.Load()
	if p == nil {
		return
	}
	p.mu.Lock()
	if c.uses != uses || p.closed {
		p.mu.Unlock()
		return
	}
	delete(p.conns, c.key)
	p.mu.Unlock()
	_ = c.conn.Close() // nobody handles the error
}

// Close closes every connection. Streams that are still open end with an error.
func (p *Pool) Close() error {
	p.mu.Lock()
	conns := p.conns
	p.conns, p.closed = nil, true
	p.mu.Unlock()
	var first error
	for _, c := range conns {
		if c.timer != nil {
			c.timer.Stop()
		}
		if err := c.conn.Close(); err != nil && first == nil {
			first = err
		}
		c.pool.Store(nil) // a stopped timer stays in memory for a while, and must keep neither the pool nor the connection
		c.conn = nil
	}
	return first
}
