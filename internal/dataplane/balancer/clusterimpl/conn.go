package clusterimpl

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// A conn is the ClientConn of a cluster's policies. It is safe for concurrent use.
type conn struct {
	balancer.ClientConn
	loop    *serial.Loop
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

// NewSubConn makes a subchannel whose listener is called on the loop.
func (c *conn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	s := &subConn{conn: c}
	listener := opts.StateListener
	opts.StateListener = func(state balancer.SubConnState) {
		c.loop.Post(func() {
			s.connected(state)
			listener(state)
		})
	}
	if c.proxied.Load() {
		opts.CredsBundle = security.ProxyBundle(c.options) //nolint:staticcheck // nothing else reaches one subchannel
	}
	sc, err := c.ClientConn.NewSubConn(security.ThroughProxies(addrs), opts) //nolint:staticcheck // there is no other way to make one
	if err != nil {
		return nil, err
	}
	s.SubConn = sc
	c.assign(s, addrs)
	return s, nil
}

// ResolveNow resolves names again, if the cluster has any (A37, A74).
func (c *conn) ResolveNow(o resolver.ResolveNowOptions) {
	if c.resolves.Load() {
		c.ClientConn.ResolveNow(o)
	}
}

// assign gives a subchannel the account of its address.
func (c *conn) assign(s *subConn, addrs []resolver.Address) {
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
func (c *conn) credit(s *subConn) {
	a, ok := c.accounts[s.address]
	if !ok {
		a = c.stray
	}
	s.account.Store(a)
}

// reassign replaces all accounts, and updates the ejection of all endpoints. It is called on the
// loop.
func (c *conn) reassign(accounts map[string]*account, stray *account) {
	c.mu.Lock()
	c.accounts, c.stray = accounts, stray
	for s := range c.subConns {
		c.credit(s)
	}
	c.mu.Unlock()
	c.eject()
}

// eject updates the ejection of all endpoints. It is called on the loop.
func (c *conn) eject() {
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

func (c *conn) forget(s *subConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subConns, s)
}
