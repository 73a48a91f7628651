package netproxy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// A Direction is one of the two ways through a proxy.
type Direction int

// The directions. Up is from the client, which dials the proxy, to the server
// behind it.
const (
	Up Direction = iota
	Down
)

// A Proxy forwards connections until Close. Its methods may be called from any
// goroutine.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context //nolint:containedctx // ends with the proxy
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu       sync.Mutex
	links    map[*link]struct{}
	accepted int
	bytes    [2]int64
	stalled  [2]bool
	delay    [2]time.Duration
	refusing bool
	changed  chan struct{} // closed and replaced with every command
}

// Start forwards connections from a free port of 127.0.0.1 to target, which is
// "host:port". The target need not be there yet.
func Start(target string) (*Proxy, error) {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("netproxy: %w", err)
	}
	p := &Proxy{target: target, listener: lis, links: make(map[*link]struct{}), changed: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends the proxy and its connections, and waits until nothing of it runs any
// more. It may be called more than once.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.listener.Close() // closed before, at worst
	p.Disconnect()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the proxy is closed
		}
		if !p.admit() {
			reset(client)
			continue
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

// admit counts a connection, unless it is refused.
func (p *Proxy) admit() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing {
		return false
	}
	p.accepted++
	p.change()
	return true
}

// serve forwards one connection until both directions have ended.
func (p *Proxy) serve(client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	l := newLink(p, client, server)
	if !p.add(l) {
		l.cut()
		return
	}
	l.run()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
	p.change()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil || p.refusing {
		return false
	}
	p.links[l] = struct{}{}
	p.change()
	return true
}

// reset closes a connection at once, and has the other side know that it is no
// orderly end.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close() // there is nobody to tell
}
