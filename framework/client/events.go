package client

import (
	"errors"
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// The events of subscriptions.
type (
	watched struct {
		s    *subscription
		typ  *resource.Descriptor
		name xdstp.Name
	}
	unwatched struct{ s *subscription }
	gathered  struct{ o *collectionSubscription }
	scattered struct{ o *collectionSubscription }
)

func (e gathered) apply(l *loop, now time.Time) {
	l.toAuthority(e.o.scope, authority.Watch{Type: e.o.typ, Name: e.o.name, Watcher: e.o}, now)
}

func (e scattered) apply(l *loop, now time.Time) {
	l.toAuthority(e.o.scope, authority.Cancel{Type: e.o.typ, Name: e.o.name, Watcher: e.o}, now)
}

func (e watched) apply(l *loop, now time.Time) {
	l.toAuthority(e.s.scope, authority.Watch{Type: e.typ, Name: e.name, Watcher: e.s, Place: &e.s.place}, now)
}

func (e unwatched) apply(l *loop, now time.Time) {
	l.toAuthority(e.s.scope, authority.Cancel{Place: e.s.place, Watcher: e.s}, now)
}

// The events of streams. The loop ignores events of a stream that its channel has replaced.
type (
	opened struct {
		s       *stream
		arriver transport.Arriver // may be nil
	}
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
		e.s.reading.arriver = e.arriver
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
		ch, err := e.s.channel, printable.Error(e.err)
		ch.stream = nil
		clear(ch.encoded)
		ch.ended(e.s, err, now)
		l.toStream(ch, ads.Closed{Err: err, Unimplemented: errors.Is(e.err, transport.ErrUnimplemented)}, now)
		if e.s.delta && !ch.machine.Delta() {
			ch.log(slog.LevelInfo, "stream ended: the control plane does not have the delta protocol", "error", err)
		}
	}
}

func (e received) apply(l *loop, now time.Time) {
	if !e.s.current() {
		e.s.resume()
		return
	}
	ch, r := e.s.channel, e.response
	if r.left > 0 && !r.last && ch.generation(r.typ) != r.generation {
		e.s.again <- struct{}{}
		return
	}
	e.s.answered = true
	e.s.pause(l, now)
	if r.reject != "" {
		ch.nacks(r.typ).name(r.rejected)
	}
	asked := ch.machine.Asked(r.typ)
	l.news, l.work = false, newWork(l.client, e.s.resume)
	ev := ads.Received{Type: r.typ, Version: r.version, Nonce: r.nonce, Reject: r.reject, Digest: r.digest, Bad: r.bad}
	if ch.machine.Curious(r.typ) {
		r.summarise(&ev)
	}
	l.toStream(ch, ev, now)
	if asked {
		var parts []part
		ch.tell(l, func(server int, a *authorityScope) authority.Event {
			p := r.of(l.client, a)
			parts = append(parts, p)
			return authority.Response{Server: server, Type: r.typ, Results: p.results, Unchanged: r.unchanged, Version: r.version, Partial: r.partial}
		}, now)
		r.place(parts)
	}
	e.s.news = l.news
	l.work.handed()
	l.work = nil
}

// decoded is a response whose resources have been read.
type decoded struct {
	typ     *resource.Descriptor
	version string
	nonce   string
	reject  string // not empty: the reason of the rejection
	digest  uint64 // of all resources of a rejected response
	bad     []uint64
	// rejected are the names of rejected resources, clipped; at most maxBad and one more.
	rejected []string
	results  []authority.Result
	news     []fresh // the resources behind results
	// unchanged are the resources whose bytes are those of an earlier response.
	unchanged []authority.Unchanged
	partial   bool // resources missing from results may exist nevertheless
	// left is the number of resources that were not decoded because nobody watched them, at a
	// generation of the watches. The reader does not decode more of them after last.
	left       int
	generation uint64
	last       bool
}

// A part is the part of a response for one authority: results, and their positions among the
// response's results. Nil positions mean that it has all results.
type part struct {
	results []authority.Result
	at      []int
}

// of returns the results that belong to an authority. It ignores a resource of an authority that
// this server does not serve: only the bootstrap decides which servers serve an authority (gRFC
// A47).
func (d *decoded) of(c *Client, a *authorityScope) part {
	n := 0
	for i := range d.results {
		if c.find(d.results[i].Name) == a {
			n++
		}
	}
	if n == len(d.results) {
		return part{results: d.results}
	}
	p := part{results: make([]authority.Result, 0, n), at: make([]int, 0, n)}
	for i, r := range d.results {
		if c.find(r.Name) == a {
			p.results, p.at = append(p.results, r), append(p.at, i)
		}
	}
	return p
}

// place copies the places that the authorities assigned to the response's results.
func (d *decoded) place(parts []part) {
	for _, p := range parts {
		for k, i := range p.at {
			d.results[i].Place = p.results[k].Place
		}
	}
}

// summarise fills in the facts that the stream's machine must remember.
func (d *decoded) summarise(ev *ads.Received) {
	for _, u := range d.unchanged {
		ev.Accepted = append(ev.Accepted, ads.Accepted{Name: u.Update.Name().String(), Version: d.version})
	}
	for _, r := range d.results {
		name := r.Name.String()
		switch {
		case r.Update != nil || r.Heartbeat:
			a := ads.Accepted{Name: name, Version: r.Version, Heartbeat: r.Heartbeat}
			for _, alias := range r.Aliases {
				a.Aliases = append(a.Aliases, alias.String())
			}
			ev.Accepted = append(ev.Accepted, a)
		case r.Removed:
			ev.Removed = append(ev.Removed, name)
		case r.Err != nil || r.Error != nil:
			ev.Rejected = append(ev.Rejected, name)
		}
	}
}
