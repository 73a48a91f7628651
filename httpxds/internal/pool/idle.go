package pool

import (
	"slices"
	"time"

	"google.golang.org/grpc/connectivity"
)

// setSweep sets the timer that closes idle connections. The caller holds mu.
func (s *SubConn) setSweep() {
	if d := s.tree.dialer.IdleTimeout; d > 0 && s.sweep == nil && len(s.conns) > 1 {
		s.sweep = time.AfterFunc(d, func() {
			s.mu.Lock()
			s.sweep = nil
			s.mu.Unlock()
			s.closeIdle(d)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.state == connectivity.Ready {
				s.setSweep()
			}
		})
	}
}

// closeIdle closes connections that were idle for a time. It keeps one connection, so that the endpoint stays connected.
func (s *SubConn) closeIdle(d time.Duration) {
	s.mu.Lock()
	var old []*conn
	for _, c := range slices.Clone(s.conns) {
		if len(s.conns)-len(old) <= 1 {
			break
		}
		if !c.unused(d) {
			continue
		}
		if i := slices.Index(s.idle, c); i >= 0 {
			s.idle, c.isIdle = slices.Delete(s.idle, i, i+1), false
		}
		old = append(old, c)
	}
	s.mu.Unlock()
	for _, c := range old {
		c.closeUnused()
	}
}

// unused reports whether the connection had no request for a time. One of HTTP/2 has no hook that tells when a request ends.
// It is unused if it had none since the last sweep. The caller holds owner.mu.
func (c *conn) unused(d time.Duration) bool {
	if !c.multiplexed {
		return c.isIdle && time.Since(c.since) >= d
	}
	last := c.swept
	c.swept = c.raw.requests.Load()
	return c.InFlight() == 0 && (d == 0 || c.swept == last)
}
