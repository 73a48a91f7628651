package pool

import (
	"context"
	"errors"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// ErrNoUpgrade is the error of a request for an upgrade to a cluster whose connections speak only HTTP/2.
var ErrNoUpgrade = errors.New("the cluster has only connections of HTTP/2, which cannot be upgraded; " +
	"let the cluster use HTTP/1.1 (auto_config or explicit_http_config) or the program use WithProtocol(Auto)")

var errClosedAtOnce = errors.New("the endpoint closed the connection before its first request")

// needsHTTP1 reports whether the connections to the endpoint speak HTTP/2.
func (s *SubConn) needsHTTP1() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == connectivity.Ready && s.multiplexed()
}

// acquireHTTP1 opens a connection of HTTP/1.1 beside those of HTTP/2, and reserves it for one request. If the endpoint
// declines the upgrade, the connection closes after the response.
func (s *SubConn) acquireHTTP1(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	address := s.addresses[0]
	if s.tree.dialer.protocol(lbtree.HTTPOf(address.Attributes).Version) != Auto {
		s.mu.Unlock()
		return nil, ErrNoUpgrade
	}
	s.upgrading++
	s.mu.Unlock()
	defer s.upgraded()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	unit, ok := s.circuit.Take(breaker.Connections)
	if !ok {
		s.exit()
		return nil, ErrPending
	}
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() //nolint:contextcheck // dialing ends with the request and with the subchannel
	c, err := s.tree.dialer.dial(dialing, address, true)
	if err != nil {
		unit.Release()
		s.exit()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case s.ctx.Err() != nil:
			return nil, balancer.ErrNoSubConnAvailable
		}
		return nil, &ConnectError{address.Addr, s.circuit, err}
	}
	c.owner, c.unit, c.forUpgrade = s, unit, true
	c.spent.Store(true)
	if c, err = s.adopt(c); err != nil {
		return nil, err
	}
	c.SetStateHook(c.changed)
	if c.Err() != nil {
		s.lost(c) // the hook does not report earlier changes
	}
	return c, nil
}

// enter waits until the limit of connections admits another one for an upgrade. As in http.Transport, those of HTTP/2 do not count,
// because they may stay open for ever, and no connection counts after its upgrade.
func (s *SubConn) enter(ctx context.Context) error {
	if s.upgrades == nil {
		return nil
	}
	select {
	case s.upgrades <- struct{}{}:
		return nil
	default:
	}
	pending, ok := s.circuit.Take(breaker.Pending)
	if !ok {
		return ErrPending
	}
	defer pending.Release()
	select {
	case s.upgrades <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return balancer.ErrNoSubConnAvailable
	}
}

// exit ends the effect of enter.
func (s *SubConn) exit() {
	if s.upgrades != nil {
		<-s.upgrades
	}
}

// free releases the connection from the limits that count it.
func (c *conn) free() {
	c.unit.Release()
	if c.forUpgrade {
		c.owner.exit()
	}
}

// adopt reserves a connection for its only request, and makes it one of the subchannel.
func (s *SubConn) adopt(c *conn) (*conn, error) {
	if !c.reserve() { // before the subchannel has it, which closes unused connections
		_ = c.Close() // it is of no use
		c.free()
		return nil, &ConnectError{c.endpoint, s.circuit, errClosedAtOnce}
	}
	s.mu.Lock()
	ended := s.state == connectivity.Shutdown
	if !ended {
		s.conns = append(s.conns, c)
	}
	s.mu.Unlock()
	if ended {
		_ = c.Close() // the request picks again
		c.free()
		return nil, balancer.ErrNoSubConnAvailable
	}
	return c, nil
}

// upgraded ends an attempt to connect for an upgrade.
func (s *SubConn) upgraded() {
	s.mu.Lock()
	s.upgrading--
	s.mu.Unlock()
	s.finish()
}
