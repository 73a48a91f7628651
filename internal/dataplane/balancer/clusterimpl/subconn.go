package clusterimpl

import (
	"errors"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

var errEjected = errors.New("the endpoint is ejected: it did worse than others (outlier detection)")

// A subConn is a subchannel of the cluster. It has the account of its calls. It reports bad health
// while its endpoint is ejected, and keeps the connection (A61).
type subConn struct {
	balancer.SubConn
	conn    *conn
	address string // guarded by conn.mu
	account atomic.Pointer[account]

	// The loop owns the fields below.
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
					s.tell()
				}
			})
		})
	})
}

// eject sets whether the endpoint is ejected.
func (s *subConn) eject(ejected bool) {
	if s.ejected != ejected {
		s.ejected = ejected
		s.tell()
	}
}

// tell reports the health to the listener.
func (s *subConn) tell() {
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
