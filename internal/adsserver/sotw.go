package adsserver

import (
	"github.com/xdsforge/xdsforge/framework/source"
)

// sotwRequest replaces the names of the type. Without names, a request asks for everything, unless
// an earlier one on the stream had names.
func (s *substream) sotwRequest(r *request, repeated bool) error {
	if r.digest == s.names {
		if repeated {
			return s.repeat()
		}
		return nil
	}
	if err := s.checkNames(r); err != nil {
		return err
	}
	s.names = r.digest
	if s.warms {
		if err := s.repeat(); err != nil {
			return err
		}
	}
	s.explicit = s.explicit || len(r.names) > 0
	refused := s.takeRefused()
	if !s.explicit && !s.refuse(source.Wildcard, refused) {
		s.named(source.Wildcard)
	}
	before := s.asked
	s.asked = make([]*entry, 0, len(r.names))
	err := s.stream.inParts(r.names, func(name string) {
		if !s.refuse(name, refused) {
			s.named(name)
		}
	}, s.merged(len(before) == 0))
	if err == nil {
		err = s.joinMembers()
	}
	if err == nil {
		err = s.sweep(before)
	}
	if err == nil {
		err = s.checkCount()
	}
	return err
}

// repeat answers a request that repeats the names of the one before, and acknowledges nothing. Envoy sends one to warm
// a changed cluster or listener: it waits for the endpoints or routes, which have not changed.
func (s *substream) repeat() error {
	s.warms = false
	s.stream.touch()
	if s.kind.Complete {
		s.lag()
		s.puts = true // each response has everything
		return nil
	}
	for _, l := range s.lists {
		l.told, s.gone = false, true
	}
	if s.repeated == s.sent+1 {
		return nil // all wait to be sent again
	}
	s.repeated = s.sent + 1
	return s.eachPart(func(p *sub) {
		if p.shown() {
			p.flags |= resend
			s.note(p.entry)
		}
	}, s.stream.pause)
}

// changed notes for the type that depends on this one that the client may warm a changed resource, and ask again.
func (s *substream) changed() {
	if s.kind.rank != rankClusters && s.kind.rank != rankListeners {
		return
	}
	for _, other := range s.stream.kinds {
		if other.kind.rank == s.kind.rank+1 {
			other.warms = true
		}
	}
}

// named subscribes to a name, or marks the subscription that exists.
func (s *substream) named(name string) {
	if isCollection(name) {
		if l := s.listOf(canonical(name)); l != nil {
			l.named = true
			return
		}
	}
	if e := s.kind.entries[name]; e != nil {
		if p := s.find(e); p != nil && p.flags.has(byName) {
			p.flags |= named
			s.asked = append(s.asked, e)
			return
		}
	}
	if e := s.subscribe(name, named); e != nil {
		s.asked = append(s.asked, e)
	}
}

// sweep ends the subscriptions to earlier names that the last request did not mark, and clears the marks.
func (s *substream) sweep(before []*entry) error {
	err := s.eachOf(before, func(p *sub) {
		if p.flags.has(byName) && !p.flags.has(named) {
			s.dropName(p)
		}
	})
	if err == nil {
		err = s.eachOf(s.asked, func(p *sub) { p.flags &^= named })
	}
	if err != nil {
		return err
	}
	if err = s.sweepLists(); err == nil {
		err = s.leaveLists(s.stream.pause)
	}
	s.tidy()
	return err
}

// eachOf calls f with the subscriptions to entries, in parts.
func (s *substream) eachOf(entries []*entry, f func(p *sub)) error {
	for i, e := range entries {
		if p := s.find(e); p != nil {
			f(p)
		}
		if (i+1)%s.stream.core.part == 0 {
			s.subs.compact()
			if err := s.stream.pause(); err != nil {
				return err
			}
		}
	}
	s.subs.compact()
	return nil
}

// checkNames checks the bounds of the names of a request.
func (s *substream) checkNames(r *request) error {
	limits := &s.stream.core.config.Limits
	switch {
	case r.longest > limits.NameBytes:
		return &LimitError{Limit: "length of a name", Value: r.longest, Max: limits.NameBytes, Option: "Limits.NameBytes"}
	case r.collections > limits.Collections:
		return &LimitError{Limit: "collections", Value: r.collections, Max: limits.Collections, Option: "Limits.Collections"}
	}
	return nil
}

// checkCount checks the subscriptions of the stream.
func (s *substream) checkCount() error {
	st, limits := s.stream, &s.stream.core.config.Limits
	switch {
	case st.names > limits.Names:
		return &LimitError{Limit: "names", Value: st.names, Max: limits.Names, Option: "Limits.Names"}
	case st.collections > limits.Collections:
		return &LimitError{Limit: "collections", Value: st.collections, Max: limits.Collections, Option: "Limits.Collections"}
	case st.nameBytes > limits.TotalBytes:
		return &LimitError{Limit: "bytes of all names", Value: st.nameBytes, Max: limits.TotalBytes, Option: "Limits.TotalBytes"}
	}
	return nil
}

// whole returns the batch of a response with all subscribed resources of a complete type. It
// returns ok = false as long as not everything is known: a name that is missing in the response does
// not exist. With keep, it has the removed resources that the client has, too; see [keptContent].
func (s *substream) whole(keep bool) (batch []*content, ok bool) {
	if s.waiting > 0 {
		return nil, false
	}
	batch = s.stream.core.newBatch()
	ended, gone := false, false
	for p := range s.subs.all() {
		x := p.shows()
		p.flags &^= resend
		if k := p.entry.kept; keep && x == nil && k != nil && p.stamp != 0 && !s.replaced(p.entry) {
			x, gone = k.content, true
		}
		if x == nil {
			s.removed(p)
			if !p.flags.has(byName) {
				ended = true
				s.drop(p)
			}
			continue
		}
		if p.stamp != 0 && p.stamp != x.stamp {
			s.changed()
		}
		p.stamp = x.stamp
		batch = s.stream.core.appendOnce(batch, x)
	}
	if ended {
		s.subs.compact()
	}
	for _, l := range s.lists {
		l.told = l.list.complete
	}
	s.dirty, s.beats = shrink(s.dirty), nil
	s.puts, s.gone = false, gone
	if gone && s.stream.departure.waits() {
		s.gone, s.later = false, true
	}
	return batch, true
}

// replaced reports whether a response has the resource of an entry with a kept content, whose alias it was, in another
// version.
func (s *substream) replaced(e *entry) bool {
	target := s.kind.entries[e.kept.content.name]
	return target != nil && target != e && target.content != nil && s.find(target) != nil
}

// newBatch starts the batch of a response.
func (c *Core) newBatch() []*content {
	c.batches++
	return c.batch[:0]
}

// appendOnce appends a content unless it is in the batch under another alias.
func (c *Core) appendOnce(batch []*content, x *content) []*content {
	if x.batch == c.batches {
		return batch
	}
	x.batch = c.batches
	return append(batch, x)
}

// shrink empties a list, and keeps little memory.
func shrink(list []*entry) []*entry {
	if cap(list) > 16 {
		return nil
	}
	clear(list)
	return list[:0]
}
