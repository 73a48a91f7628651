package clusterimpl

import (
	"errors"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
)

var errEjected = errors.New("the endpoint is ejected: it did worse than others (outlier detection)")

// A subConn is a subchannel of the cluster. It knows where its calls are counted, and
// reports bad health while its endpoint is ejected, which leaves the connection alone (A61).
type subConn struct {
	balancer.SubConn
	conn    *conn
	address string // guarded by conn.mu
	account atomic.Pointer[account]

	// What follows belongs to the loop.
	ejected bool
	// listener hears of the health; nil: there is none for the present connection.
	listener func(balancer.SubConnState)
	health   *balancer.SubConnState // what it is without ejection; nil: not known yet
	// registration tells the listener that counts from those before.
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

// eject says whether the endpoint is not to be used.
func (s *subConn) eject(ejected bool) {
	if s.ejected != ejected {
		s.ejected = ejected
		s.tell()
	}
}

// tell tells the listener of the health.
func (s *subConn) tell() {
	switch {
	case s.listener == nil:
	case s.ejected:
		s.listener(balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: errEjected})
	case s.health != nil:
		s.listener(*s.health)
	}
}

// connected takes in the state of the connection: health is that of one connection only.
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
