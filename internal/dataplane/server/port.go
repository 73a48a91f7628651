package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Port is one listening socket and its Listener resource. It owns the generations.
type Port[R Routing] struct {
	config  *Config
	backend Backend[R]
	name    string // of the Listener
	lis     net.Listener
	addr    netip.AddrPort

	opened time.Time
	// reported is the newest mode; nil: there is none yet.
	reported atomic.Pointer[modeSince]

	// current serves new connections; nil: the port does not serve.
	current atomic.Pointer[generation[R]]
	stopped chan struct{} // closed when the port stops, gracefully or not

	mu          sync.Mutex // guards the fields below, and writes of current
	generations map[*generation[R]]struct{}
	created     uint64 // the number of generations so far
	closed      bool   // whether stopped is closed
	closedAt    time.Time
	draining    sync.WaitGroup

	// Only the watching goroutine uses these fields.
	mode     mode
	warnings warnings
}

// NewPort creates a port for a listening socket and the name of its Listener. The address must be a TCP address (A36).
func NewPort[R Routing](c *Config, b Backend[R], lis net.Listener, name string) (*Port[R], error) {
	tcp, ok := lis.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("%s: the listener's address %v is a %T; it must be a *net.TCPAddr (A36)", c.Package, lis.Addr(), lis.Addr())
	}
	return &Port[R]{
		config: c, backend: b, name: name, lis: lis, addr: tcp.AddrPort(), opened: time.Now(),
		stopped: make(chan struct{}), generations: make(map[*generation[R]]struct{}),
	}, nil
}

// Serve serves until Stop or GracefulStop, and then returns nil. It returns an error if the socket fails. Call it
// once. When it returns, the port has ended its watches.
func (p *Port[R]) Serve() error {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(ctx) })
	defer watching.Wait()
	defer cancel()
	return p.accept()
}

// accept hands connections to the current generation. Without one, it closes them without a byte (A36).
func (p *Port[R]) accept() error {
	var pause time.Duration
	for {
		c, err := p.lis.Accept()
		if err == nil {
			pause = 0
			p.hand(c)
			continue
		}
		var temporary interface{ Temporary() bool }
		select {
		case <-p.stopped:
			return nil
		default:
		}
		if !errors.As(err, &temporary) || !temporary.Temporary() {
			_ = p.lis.Close() // as the Serve of grpc.Server does
			return fmt.Errorf("%s: accepting on %v: %w", p.config.Package, p.lis.Addr(), err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		p.config.Logger.Warn("accepting connections failed; retrying", "addr", p.lis.Addr(), "error", err, "pause", pause)
		if timer := time.NewTimer(pause); !p.sleep(timer) {
			return nil
		}
	}
}

// sleep waits for a timer. It returns false if the port stops.
func (p *Port[R]) sleep(timer *time.Timer) bool {
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.stopped:
		return false
	}
}

func (p *Port[R]) hand(c net.Conn) {
	for {
		g := p.current.Load()
		if g == nil {
			_ = c.Close()
			return
		}
		if g.take(c) {
			return
		}
		// Another generation has replaced g.
	}
}

// watch follows the Listener, its RouteConfigurations and the configurations of its HTTP filters until ctx ends.
func (p *Port[R]) watch(ctx context.Context) {
	for ev := range tree.Watch(ctx, p.config.Client, listener.Type(), p.name, tree.WithFollow(p.follow)) {
		select {
		case <-p.stopped:
			return
		default:
			p.update(ev.Update, ev.Err)
		}
	}
}

// follow reports whether the port needs a resource that a Listener refers to. It needs only RouteConfigurations and the
// configurations of HTTP filters (A104), and only those of a Listener that it can use. It refuses any other Listener at
// once, without waiting for these.
func (p *Port[R]) follow(from resource.Update, to resource.Ref) bool {
	u, ok := from.(*listener.Update)
	needed := to.Type == route.Type().Name() || to.Type == extension.Type().Name()
	return needed && (!ok || p.own(u) == nil)
}

// update applies a complete configuration, or the reason why there is none.
func (p *Port[R]) update(s *tree.Snapshot, err error) {
	var u *listener.Update
	if err == nil {
		u, _ = s.Root().(*listener.Update)
		err = p.own(u)
	} else if hint := p.anyAddressHint(); hint != "" && errors.Is(err, resource.ErrNotFound) && !errors.Is(err, resource.ErrRemoved) {
		err = fmt.Errorf("%w%s", err, hint)
	}
	if err != nil {
		if p.replace(nil) {
			p.report(err)
		}
		return
	}
	g := p.current.Load()
	same := g != nil && bytes.Equal(g.listener.Raw(), u.Raw())
	if same {
		u = g.listener // the new copy of u has other filter chains than the served one
	}
	routes, problems := p.compile(s, u)
	p.warnings.log(p.config.Logger, p.lis.Addr(), problems)
	if same {
		g.route(routes)
		return
	}
	if !p.replace(p.newGeneration(u, routes)) {
		routes.release()
		return
	}
	p.report(nil)
}

func (p *Port[R]) newGeneration(u *listener.Update, t table[R]) *generation[R] {
	return &generation[R]{
		config: p.config, backend: p.backend, addr: p.lis.Addr(), listener: u, routes: t, created: time.Now(),
		chains: make(map[*listener.FilterChain]*chain[R]),
	}
}

func (p *Port[R]) report(err error) {
	if p.mode.next(err) {
		p.reported.Store(&modeSince{err, time.Now()})
		p.config.Report(p.lis.Addr(), err)
	}
}

// replace hands new connections to g, and drains the previous generation. With a nil g the port closes new
// connections. Once the port has stopped, replace does nothing and returns false.
func (p *Port[R]) replace(g *generation[R]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if g != nil {
		p.created++
		g.number = p.created
		p.generations[g] = struct{}{}
	}
	p.drain(p.current.Swap(g), p.config.Grace)
	return true
}

// drain ends a generation in the background. p.mu is held.
func (p *Port[R]) drain(g *generation[R], grace time.Duration) {
	if g == nil {
		return
	}
	p.draining.Go(func() {
		g.drain(grace)
		p.mu.Lock()
		delete(p.generations, g)
		p.mu.Unlock()
	})
}

// stopAccepting closes the socket. p.mu is held.
func (p *Port[R]) stopAccepting() {
	if p.closed {
		return
	}
	p.closed, p.closedAt = true, time.Now()
	close(p.stopped)
	_ = p.lis.Close() // Accept returns
}

// GracefulStop stops accepting, and returns when all calls in flight have ended. Serve returns nil.
func (p *Port[R]) GracefulStop() {
	p.mu.Lock()
	p.stopAccepting()
	p.drain(p.current.Swap(nil), -1)
	p.mu.Unlock()
	p.draining.Wait()
}

// Stop ends everything at once, and lets a running GracefulStop return. Serve returns nil.
func (p *Port[R]) Stop() {
	p.mu.Lock()
	p.stopAccepting()
	p.current.Store(nil)
	all := make([]*generation[R], 0, len(p.generations))
	for g := range p.generations {
		all = append(all, g)
	}
	p.mu.Unlock()
	for _, g := range all {
		g.stop()
	}
}
