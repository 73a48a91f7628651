package client

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/ads"
	"github.com/xdsforge/xdsforge/framework/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// The events of subscriptions.
type (
	watched   struct{ s *subscription }
	unwatched struct{ s *subscription }
)

func (e watched) apply(l *loop, now time.Time) {
	l.toAuthority(e.s.authority, authority.Watch{Type: e.s.typ, Name: e.s.name, Watcher: e.s}, now)
}

func (e unwatched) apply(l *loop, now time.Time) {
	l.toAuthority(e.s.authority, authority.Cancel{Type: e.s.typ, Name: e.s.name, Watcher: e.s}, now)
}

// The events of streams. Those of a stream that is no longer its channel's come
// too late to mean anything.
type (
	opened  struct{ s *stream }
	written struct{ s *stream }
	closed  struct {
		s   *stream
		err error
	}
	received struct {
		s        *stream
		response decoded
	}
)

func (e opened) apply(l *loop, now time.Time) {
	if e.s.current() {
		l.toStream(e.s.channel, ads.Opened{}, now)
	}
}

func (e written) apply(l *loop, now time.Time) {
	if e.s.current() {
		l.toStream(e.s.channel, ads.Written{}, now)
	}
}

func (e closed) apply(l *loop, now time.Time) {
	if e.s.current() {
		e.s.channel.stream = nil
		l.toStream(e.s.channel, ads.Closed{Err: e.err}, now)
	}
}

func (e received) apply(l *loop, now time.Time) {
	defer e.s.resume()
	if !e.s.current() {
		return
	}
	ch, r := e.s.channel, e.response
	asked := ch.machine.Asked(r.typ)
	l.toStream(ch, ads.Received{Type: r.typ, Version: r.version, Nonce: r.nonce, Reject: r.reject}, now)
	if !asked {
		return
	}
	for _, a := range ch.authorities {
		if results := r.of(l.client, a); len(results) > 0 || r.typ.Complete {
			l.toAuthority(a, authority.Response{Type: r.typ, Results: results, Unnamed: r.unnamed}, now)
		}
	}
}

// decoded is a response whose resources have been read.
type decoded struct {
	typ     *resource.Type
	version string
	nonce   string
	reject  string // not empty: why it is rejected
	results []authority.Result
	unnamed bool // there are resources whose names cannot be read; results lacks them
}

// of returns the results that belong to an authority. A resource of an authority
// that is not served by this server belongs to none: it is passed over, for only
// the bootstrap says who speaks for whom (gRFC A47).
func (d *decoded) of(c *Client, a *authorityScope) []authority.Result {
	n := 0
	for _, r := range d.results {
		if c.find(r.Name) == a {
			n++
		}
	}
	if n == len(d.results) {
		return d.results
	}
	results := make([]authority.Result, 0, n)
	for _, r := range d.results {
		if c.find(r.Name) == a {
			results = append(results, r)
		}
	}
	return results
}
