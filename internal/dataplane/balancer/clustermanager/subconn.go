package clustermanager

import (
	"errors"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// A loopConn is a ClientConn that calls the listeners of subchannels on the loop.
type loopConn struct {
	balancer.ClientConn
	loop *serial.Loop
}

// NewSubConn implements [balancer.ClientConn].
func (c loopConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	listener := opts.StateListener
	opts.StateListener = func(s balancer.SubConnState) { c.loop.Post(func() { listener(s) }) }
	return c.ClientConn.NewSubConn(addrs, opts) //nolint:staticcheck // there is no other way to make one
}

// A clusterConn is the ClientConn of a cluster's policies. It is safe for concurrent use.
type clusterConn struct {
	loopConn
	options balancer.BuildOptions
	// resolves says that DNS finds the endpoints, so that ResolveNow has an effect (A37).
	resolves atomic.Bool
	// proxied says that endpoints may be behind proxies (A86).
	proxied atomic.Bool

	mu       sync.Mutex
	accounts map[string]*account // by address
	stray    *account            // for addresses outside the cluster
	subConns map[*subConn]struct{}
}

// NewSubConn makes a subchannel with the account of its address.
func (c *clusterConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	s := &subConn{conn: c}
	listener := opts.StateListener
	opts.StateListener = func(state balancer.SubConnState) {
		s.connected(state)
		listener(state)
	}
	if c.proxied.Load() {
		opts.CredsBundle = security.ProxyBundle(c.options) //nolint:staticcheck // nothing else reaches one subchannel
	}
	sc, err := c.loopConn.NewSubConn(security.ThroughProxies(addrs), opts)
	if err != nil {
		return nil, err
	}
	s.SubConn = sc
	c.assign(s, addrs)
	return s, nil
}

// ResolveNow resolves names again, if the cluster has any (A37, A74).
func (c *clusterConn) ResolveNow(o resolver.ResolveNowOptions) {
	if c.resolves.Load() {
		c.ClientConn.ResolveNow(o)
	}
}

// assign gives a subchannel the account of its address.
func (c *clusterConn) assign(s *subConn, addrs []resolver.Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.address = ""
	if len(addrs) > 0 {
		s.address = addrs[0].Addr
	}
	c.subConns[s] = struct{}{}
	c.credit(s)
	c.loop.Post(func() { s.eject(s.account.Load().isEjected()) })
}

// credit sets the subchannel's account to the current one of its address. The caller holds mu.
func (c *clusterConn) credit(s *subConn) {
	a, ok := c.accounts[s.address]
	if !ok {
		a = c.stray
	}
	s.account.Store(a)
}

// current returns the accounts by address. The map does not change.
func (c *clusterConn) current() map[string]*account {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accounts
}

// reassign replaces all accounts, and updates the ejection of all endpoints. It is called on the
// loop.
func (c *clusterConn) reassign(accounts map[string]*account, stray *account) {
	c.mu.Lock()
	c.accounts, c.stray = accounts, stray
	for s := range c.subConns {
		c.credit(s)
	}
	c.mu.Unlock()
	c.eject()
}

// eject updates the ejection of all endpoints. It is called on the loop.
func (c *clusterConn) eject() {
	c.mu.Lock()
	all := make([]*subConn, 0, len(c.subConns))
	for s := range c.subConns {
		all = append(all, s)
	}
	c.mu.Unlock()
	for _, s := range all {
		s.eject(s.account.Load().isEjected())
	}
}

func (c *clusterConn) forget(s *subConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subConns, s)
}

var errEjected = errors.New("the endpoint is ejected: it did worse than others (outlier detection)")

// A subConn is a subchannel of the cluster. It has the account of its calls. It reports bad health
// while its endpoint is ejected, and keeps the connection (A61).
type subConn struct {
	balancer.SubConn
	conn    *clusterConn
	address string // guarded by conn.mu
	account atomic.Pointer[account]

	// The loop owns the fields below.
	// state is the last state of the connection, with the error of the last attempt until one succeeds.
	state   balancer.SubConnState
	ejected bool
	// listener receives the health; nil: the present connection has none.
	listener func(balancer.SubConnState)
	health   *balancer.SubConnState // the health without ejection; nil: not known yet
	// registration identifies the current listener.
	registration int
}

// RegisterHealthListener implements [balancer.SubConn].
func (s *subConn) RegisterHealthListener(listener func(balancer.SubConnState)) {
	s.conn.loop.Post(func() {
		s.registration++
		s.listener, s.health = listener, nil
		if listener == nil {
			s.SubConn.RegisterHealthListener(nil)
			return
		}
		current := s.registration
		s.SubConn.RegisterHealthListener(func(state balancer.SubConnState) {
			s.conn.loop.Post(func() {
				if s.registration == current {
					s.health = &state
					s.reportHealth()
				}
			})
		})
	})
}

// eject sets whether the endpoint is ejected.
func (s *subConn) eject(ejected bool) {
	if s.ejected != ejected {
		s.ejected = ejected
		s.reportHealth()
	}
}

// reportHealth reports the health to the listener.
func (s *subConn) reportHealth() {
	switch {
	case s.listener == nil:
	case s.ejected:
		s.listener(balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: errEjected})
	case s.health != nil:
		s.listener(*s.health)
	}
}

// connected handles a new state of the connection. Health belongs to one connection only.
func (s *subConn) connected(state balancer.SubConnState) {
	s.registration++
	s.listener, s.health = nil, nil
	last := s.state.ConnectionError
	if s.state = state; state.ConnectionError == nil && state.ConnectivityState != connectivity.Ready {
		s.state.ConnectionError = last
	}
	if state.ConnectivityState == connectivity.Shutdown {
		s.conn.forget(s)
	}
}

// UpdateAddresses implements [balancer.SubConn].
func (s *subConn) UpdateAddresses(addrs []resolver.Address) {
	s.conn.assign(s, addrs)
	s.SubConn.UpdateAddresses(security.ThroughProxies(addrs)) //nolint:staticcheck // policies may still do so
}

// Shutdown implements [balancer.SubConn].
func (s *subConn) Shutdown() {
	s.conn.forget(s)
	s.SubConn.Shutdown()
}
