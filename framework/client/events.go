package client

import (
	"errors"
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// opened handles the start of the stream. The arriver may be nil.
func (s *stream) opened(arriver transport.Arriver) {
	if s.current() {
		s.reading.arriver = arriver
		s.channel.machine.Opened(s.loop.now)
	}
}

// written handles the end of a write.
func (s *stream) written() {
	if s.current() {
		s.channel.machine.Written()
		s.loop.stream(s.channel)
	}
}

// closed handles the end of the stream.
func (s *stream) closed(cause error) {
	if !s.current() {
		return
	}
	ch, l, err := s.channel, s.loop, printable.Error(cause)
	ch.stream = nil
	clear(ch.encoded)
	ch.ended(s, err, l.now)
	ch.machine.Closed(err, errors.Is(cause, transport.ErrUnimplemented), l.now)
	l.stream(ch)
	if s.delta && !ch.machine.Delta() {
		ch.log(slog.LevelInfo, "stream ended: the control plane does not have the delta protocol", "error", err)
	}
}

// received handles a decoded response. It sends the reader back if more of its resources are watched
// by now.
func (s *stream) received(d *decoded) {
	if !s.current() {
		s.resume()
		return
	}
	ch, l := s.channel, s.loop
	if d.left > 0 && !d.last && ch.generation(d.typ) != d.generation {
		s.again <- struct{}{}
		return
	}
	s.answered = true
	s.pause()
	if d.reject != "" {
		ch.nacks(d.typ).name(d.rejected)
	}
	requested := ch.machine.Requests(d.typ)
	l.news, l.work = false, newWork(l.client, s.resume)
	resp := ads.Response{Type: d.typ, Version: d.version, Nonce: d.nonce, Reject: d.reject, Digest: d.digest, Bad: d.bad}
	if ch.machine.NeedsNames(d.typ) {
		d.summarise(&resp)
	}
	ch.machine.Received(&resp, l.now)
	l.stream(ch)
	if requested {
		d.apply(l, ch)
	}
	s.news = l.news
	l.work.handed()
	l.work = nil
}

// apply passes the results to the authorities. It ignores a resource of an authority that this
// server does not serve: only the bootstrap decides which servers serve an authority (gRFC A47).
func (d *decoded) apply(l *loop, ch *channel) {
	for _, u := range ch.users {
		results, at := d.of(l.client, u.authorityScope)
		u.machine.Received(&authority.Response{
			Server: u.server, Type: d.typ, Results: results, Unchanged: d.unchanged, Version: d.version, Partial: d.partial,
		}, l.now)
		l.authority(u.authorityScope)
		d.record(results, at)
	}
}

// record copies the records that an authority assigned to its results.
func (d *decoded) record(results []authority.Result, at []int) {
	for k, i := range at {
		d.results[i].Record = results[k].Record
	}
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

// of returns the results that belong to an authority, and their positions. Nil positions mean that it
// has all results.
func (d *decoded) of(c *Client, a *authorityScope) (results []authority.Result, at []int) {
	n := 0
	for i := range d.results {
		if c.find(d.results[i].Name) == a {
			n++
		}
	}
	if n == len(d.results) {
		return d.results, nil
	}
	results, at = make([]authority.Result, 0, n), make([]int, 0, n)
	for i, r := range d.results {
		if c.find(r.Name) == a {
			results, at = append(results, r), append(at, i)
		}
	}
	return results, at
}

// summarise fills in the facts that the stream's machine must remember.
func (d *decoded) summarise(resp *ads.Response) {
	for _, u := range d.unchanged {
		resp.Accepted = append(resp.Accepted, ads.Accepted{Name: u.Update.Name().String(), Version: d.version})
	}
	for _, r := range d.results {
		name := r.Name.String()
		switch {
		case r.Update != nil || r.Heartbeat:
			a := ads.Accepted{Name: name, Version: r.Version, Heartbeat: r.Heartbeat}
			for _, alias := range r.Aliases {
				a.Aliases = append(a.Aliases, alias.String())
			}
			resp.Accepted = append(resp.Accepted, a)
		case r.Removed:
			resp.Removed = append(resp.Removed, name)
		case r.Err != nil || r.Error != nil:
			resp.Rejected = append(resp.Rejected, name)
		}
	}
}
