package hosted

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// A conn is the ClientConn of a policy. It is safe for concurrent use.
type conn struct {
	balancer.ClientConn // the cluster's
	policy              *Policy
}

// UpdateState reports the state on the loop.
func (c *conn) UpdateState(s balancer.State) {
	c.policy.env.Loop.Post(func() {
		p := c.policy
		if p.closed {
			return
		}
		if p.last = s; p.err == nil {
			p.report(s)
		}
	})
}

// NewSubConn makes a subchannel. Its listener is not called after the policy was closed.
func (c *conn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	p := c.policy
	listener := opts.StateListener
	var sc balancer.SubConn
	opts.StateListener = func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Shutdown {
			p.forget(sc)
		}
		switch {
		case p.closed:
		case listener != nil:
			listener(s)
		default:
			p.b.UpdateSubConnState(sc, s) //nolint:staticcheck // policies may still use this method
		}
	}
	sc, err := c.ClientConn.NewSubConn(addrs, opts) //nolint:staticcheck // there is no other way to make one
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.subConns[sc] = true
	p.mu.Unlock()
	return sc, nil
}

// RemoveSubConn shuts a subchannel down. Older policies use it.
func (c *conn) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses changes the addresses of a subchannel.
func (c *conn) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	sc.UpdateAddresses(addrs) //nolint:staticcheck // policies may still do so
}

func (p *Policy) forget(sc balancer.SubConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.subConns, sc)
}
