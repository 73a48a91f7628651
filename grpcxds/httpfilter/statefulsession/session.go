package statefulsession

import (
	"context"
	"sync"
	"time"
)

// A Session has the cookies of one session, for programs that do not send cookies themselves. Its calls go to one
// endpoint. The zero value is a new session. It is safe for concurrent use: calls that begin before the first response
// may go to different endpoints, and the last response counts.
type Session struct {
	mu      sync.Mutex
	cookies map[string]stored // by name and path
}

type stored struct {
	value
	expires time.Time // zero: never
}

type sessionKey struct{}

// Join returns a context whose calls belong to the session. A cookie in the metadata of a call has precedence.
func (s *Session) Join(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionOf returns the session of a call, or nil.
func sessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// key identifies a cookie in a session.
func (c *cookie) key() string { return c.name + ";" + c.path }

// find returns the value of a cookie. It is zero if there is none.
func (s *Session) find(c *cookie) value {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.cookies[c.key()]
	if !kept.expires.IsZero() && !time.Now().Before(kept.expires) {
		return value{}
	}
	return kept.value
}

// keep sets the value of a cookie.
func (s *Session) keep(c *cookie, v value) {
	kept := stored{value: v}
	if c.ttl > 0 {
		kept.expires = time.Now().Add(c.ttl)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cookies == nil {
		s.cookies = make(map[string]stored)
	}
	s.cookies[c.key()] = kept
}
