package clustermanager

import (
	"cmp"
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

	mu        sync.Mutex
	addresses map[string]*address
	stray     *account // for addresses outside the cluster
	sessions  sessions
}

// An address is an address of the cluster's endpoints or of a subchannel. The mutex of the clusterConn
// guards it.
type address struct {
	account  *account // nil: the cluster does not have the address
	subConns *subConn // the first subchannel to the address, or nil
}

// NewSubConn makes a subchannel with the account of its address.
func (c *clusterConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	s := &subConn{conn: c, policy: opts.StateListener}
	opts.StateListener = func(state balancer.SubConnState) {
		replaced := s.connected(state)
		if s.policy != nil {
			s.policy(state)
		}
		if replaced != nil {
			replaced.end()
		}
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
	c.unlink(s)
	s.address = ""
	if len(addrs) > 0 {
		s.address = addrs[0].Addr
	}
	a := c.address(s.address)
	s.next, a.subConns, s.linked = a.subConns, s, true
	c.credit(a, s)
	c.loop.Post(func() { s.eject(s.account.Load().isEjected()) })
}

// address returns an address, which it adds if necessary. The caller holds mu.
func (c *clusterConn) address(addr string) *address {
	a := c.addresses[addr]
	if a == nil {
		a = new(address)
		c.addresses[addr] = a
	}
	return a
}

// credit sets the account of a subchannel to the current one of its address. The caller holds mu.
func (c *clusterConn) credit(a *address, s *subConn) { s.account.Store(cmp.Or(a.account, c.stray)) }

// account returns the account of an address, or nil if the cluster does not have the address.
func (c *clusterConn) account(addr string) *account {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.addresses[addr]; a != nil {
		return a.account
	}
	return nil
}

// reassign replaces all accounts, and updates the ejection of all endpoints. It is called on the
// loop.
func (c *clusterConn) reassign(accounts map[string]*account, stray *account) {
	c.mu.Lock()
	c.stray = stray
	for addr, a := range accounts {
		c.address(addr).account = a
	}
	for addr, a := range c.addresses {
		c.set(addr, a, accounts[addr])
	}
	c.mu.Unlock()
	c.eject()
}

// replace replaces the accounts of some addresses. Nil removes the address from the cluster. It does
// not change the ejection of endpoints.
func (c *clusterConn) replace(accounts map[string]*account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for addr, account := range accounts {
		c.set(addr, c.address(addr), account)
	}
}

// set sets the account of an address. The caller holds mu.
func (c *clusterConn) set(addr string, a *address, next *account) {
	a.account = next
	for s := a.subConns; s != nil; s = s.next {
		c.credit(a, s)
	}
	c.drop(addr, a)
}

// drop removes an address without an account and subchannels. The caller holds mu.
func (c *clusterConn) drop(addr string, a *address) {
	if a.account == nil && a.subConns == nil {
		delete(c.addresses, addr)
	}
}

// eject updates the ejection of all endpoints. It is called on the loop.
func (c *clusterConn) eject() {
	c.mu.Lock()
	all := make([]*subConn, 0, len(c.addresses))
	for _, a := range c.addresses {
		for s := a.subConns; s != nil; s = s.next {
			all = append(all, s)
		}
	}
	c.mu.Unlock()
	for _, s := range all {
		s.eject(s.account.Load().isEjected())
	}
}

func (c *clusterConn) forget(s *subConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlink(s)
}

// unlink removes a subchannel from its address. The caller holds mu.
func (c *clusterConn) unlink(s *subConn) {
	if !s.linked {
		return
	}
	a := c.addresses[s.address]
	at := &a.subConns
	for *at != s {
		at = &(*at).next
	}
	*at, s.next, s.linked = s.next, nil, false
	c.drop(s.address, a)
}

var errEjected = errors.New("the endpoint is ejected: it did worse than others (outlier detection)")

// A subConn is a subchannel of the cluster. It has the account of its calls. It reports bad health
// while its endpoint is ejected, and keeps the connection (A61).
type subConn struct {
	balancer.SubConn
	conn    *clusterConn
	account atomic.Pointer[account]

	// The mutex of conn guards the fields below.
	address string
	next    *subConn // to the same address
	linked  bool     // to its address
	now     connectivity.State
	owned   bool // by sessions, and not by a policy
	outlier bool // its endpoint is ejected, for sessions

	// The loop owns the fields below.
	// policy is the listener of the policy that owns the subchannel; nil: none does.
	policy func(balancer.SubConnState)
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
		s.conn.mu.Lock()
		s.outlier = ejected
		s.conn.mu.Unlock()
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

// connected handles a new state of the connection. Health belongs to one connection only. It returns a subchannel of
// sessions that this one replaces, or nil.
func (s *subConn) connected(state balancer.SubConnState) (replaced *subConn) {
	s.registration++
	s.listener, s.health = nil, nil
	last := s.state.ConnectionError
	if s.state = state; state.ConnectionError == nil && state.ConnectivityState != connectivity.Ready {
		s.state.ConnectionError = last
	}
	replaced = s.conn.observe(s, state.ConnectivityState)
	if state.ConnectivityState == connectivity.Shutdown {
		s.conn.forget(s)
	}
	return replaced
}

// UpdateAddresses implements [balancer.SubConn].
func (s *subConn) UpdateAddresses(addrs []resolver.Address) {
	s.conn.assign(s, addrs)
	s.SubConn.UpdateAddresses(security.ThroughProxies(addrs)) //nolint:staticcheck // policies may still do so
}

// Shutdown implements [balancer.SubConn], for policies. A session may keep the subchannel.
func (s *subConn) Shutdown() {
	if !s.conn.keep(s) {
		s.end()
	}
}

// end shuts the subchannel down.
func (s *subConn) end() {
	s.conn.forget(s)
	s.SubConn.Shutdown()
}

// disown ends the notifications of the policy that has shut the subchannel down.
func (s *subConn) disown() {
	policy := s.policy
	s.registration++
	s.policy, s.listener, s.health = nil, nil, nil
	if policy != nil {
		policy(balancer.SubConnState{ConnectivityState: connectivity.Shutdown})
	}
}
