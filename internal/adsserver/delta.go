package adsserver

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/source"
)

// deltaRequest changes the subscriptions. A name that is subscribed to again is sent even if it did
// not change, unless the client has just said that it has that version.
func (s *substream) deltaRequest(r *request, first bool) error {
	if err := s.checkNames(r); err != nil {
		return err
	}
	if first {
		s.claim(r.claims)
	}
	if first && len(r.names)+len(r.unsubscribe) == 0 && !s.refuse(source.Wildcard, nil) {
		s.subscribe(source.Wildcard, 0)
	}
	err := s.stream.inParts(r.names, func(name string) {
		if !s.refuse(name, nil) {
			s.insist(name)
			s.subscribe(name, resend)
		}
	}, s.merged(len(r.unsubscribe) == 0))
	if err == nil {
		err = s.joinMembers()
	}
	if err == nil && len(r.unsubscribe) > 0 {
		err = s.deltaUnsubscribe(r.unsubscribe)
	}
	if err == nil {
		err = s.checkCount()
	}
	return err
}

// insist forgets the claim of a resource whose name is subscribed to again: a client that warms a cluster waits for an answer,
// although it has the resource of an earlier stream.
func (s *substream) insist(name string) {
	if s.claims == nil {
		return
	}
	if e := s.kind.entries[canonical(name)]; e != nil {
		if p := s.find(e); p != nil && p.flags.has(byName) {
			s.claims.settle(e.name)
		}
	}
}

func (s *substream) deltaUnsubscribe(names [][]byte) error {
	err := s.stream.inParts(names, func(name string) {
		s.forgive(name)
		s.unsubscribe(name)
	}, func() error { s.subs.compact(); return nil })
	if err == nil {
		err = s.leaveLists(s.stream.pause)
	}
	if err == nil {
		s.tidy()
		s.disclaim()
	}
	return err
}

// subscribesTo reports whether the client subscribes to a collection.
func (s *substream) subscribesTo(collection string) bool {
	return s.listOf(collection) != nil
}

// has records that the client has a content, by all of its names.
func (s *substream) has(p *sub, x *content) {
	p.stamp = x.stamp
	p.flags &^= resend | absent
	if len(x.aliases) == 0 {
		return
	}
	for _, name := range append([]string{x.name}, x.aliases...) {
		if e := s.kind.entries[name]; e != nil && e.content == x {
			if p := s.find(e); p != nil {
				p.stamp = x.stamp
				p.flags &^= resend | absent
			}
		}
	}
}

// changes returns the batch of new and changed resources among some dirty entries, up to the limit of a response. It reports
// by more whether it was interrupted. Entries without content stay dirty.
func (s *substream) changes() (batch []*content) {
	c, delta := s.stream.core, s.stream.delta
	limit, size := c.config.Limits.ResponseBytes, 0
	list := s.take()
	defer func() { clear(list) }()
	if s.encodeSome(list) {
		s.dirty = slices.Insert(s.dirty, 0, list...)
		s.stream.more = true
		return nil
	}
	batch = c.newBatch()
	for i, e := range list {
		p := s.find(e)
		if p == nil {
			continue
		}
		x := p.shows()
		switch {
		case x == nil:
			s.lacking = append(s.lacking, e)
			continue
		case !s.needs(p, x):
			if p.stamp == 0 { // the client says that it has it
				s.claims.settle(x.name)
				s.has(p, x)
			}
			continue
		}
		if n := len(x.field(s.kind, delta)); size == 0 || size+n <= limit {
			size += n
		} else {
			s.dirty = slices.Insert(s.dirty, 0, list[i:]...)
			break
		}
		if !x.late { // an error says nothing about the resource
			s.claims.settle(x.name) // not before: a resource that waits for the next response may be removed first
		}
		s.has(p, x)
		batch = c.appendOnce(batch, x)
	}
	if len(s.dirty) > 0 {
		s.stream.more = len(batch) == 0
		return batch
	}
	s.dirty, s.lacking, s.puts = s.lacking, nil, false
	return batch
}

// needs reports whether a content has to be sent: the client has another one or none, or asks for it again.
func (s *substream) needs(p *sub, x *content) bool {
	if p.stamp == x.stamp {
		return p.flags.has(resend)
	}
	return !s.stream.delta || p.stamp != 0 || !s.holds(x)
}

// encodeSome encodes some resources of a response that are not encoded yet. It reports whether there are more.
func (s *substream) encodeSome(list []*entry) (more bool) {
	c, delta, n := s.stream.core, s.stream.delta, 0
	for _, e := range list {
		x := e.content
		if x == nil || x.encoded(delta) {
			continue
		}
		if p := s.find(e); p == nil || !s.needs(p, x) {
			continue
		}
		if n >= c.part {
			return true
		}
		x.field(s.kind, delta)
		n += x.parts()
	}
	return false
}

// removals returns the names that do not exist, or no longer, among some dirty entries. It reports whether there are more
// entries. With wait, the names that the client has are kept for later.
func (s *substream) removals(wait bool) (names []string, more bool) {
	list := s.take()
	defer func() { clear(list) }()
	ended := false
	for _, e := range list {
		p := s.find(e)
		if p == nil || p.shown() {
			continue
		}
		if wait && p.stamp != 0 && !p.flags.has(resend) {
			s.hold(e)
			continue
		}
		missing := p.flags.has(byName) && e.known && (!p.flags.has(absent) || p.flags.has(resend))
		if p.stamp != 0 || missing {
			names = append(names, e.name)
			if p.stamp != 0 && e.was != "" && !s.keeps(e.was) {
				names = append(names, e.was) // the client may have it by the alias alone
				s.claims.settle(e.was)
			}
			s.claims.settle(e.name)
			p.stamp = 0
		}
		if !p.flags.has(byName) {
			ended = true
			s.drop(p)
			continue
		}
		p.flags &^= resend
		if e.known {
			p.flags |= absent
		}
	}
	if ended {
		s.subs.compact()
	}
	return names, len(s.dirty) > 0
}

// keeps reports whether the client subscribes to a resource that exists, by its name, its collection or an alias. If it
// subscribes to the name, and the source has not answered, the answer will tell.
func (s *substream) keeps(name string) bool {
	e := s.kind.entries[name]
	if e == nil {
		return false
	}
	if e.content == nil {
		p := s.find(e)
		return p != nil && p.flags.has(byName) && !e.known
	}
	for _, n := range append([]string{name}, e.content.aliases...) {
		if a := s.kind.entries[n]; a != nil && a.content == e.content && s.find(a) != nil {
			return true
		}
	}
	return false
}

// returned reports whether a name whose removal is owed exists again, so that the client has it or receives it.
func (s *substream) returned(name string) bool {
	if l := s.kind.collections[name]; l != nil && l.live > 0 {
		return true
	}
	e := s.kind.entries[name]
	return e != nil && e.content != nil && s.find(e) != nil
}

// emptyLists returns the names of globs that were not answered and have no members: that is an empty
// collection (xRFC TP1). It also returns the wildcard if that is empty, which only an empty response
// can say.
func (s *substream) emptyLists() (names []string, wildcard *listSub) {
	for _, p := range s.lists {
		if p.told || !p.list.complete {
			continue
		}
		p.told = true
		if p.list.live > 0 {
			continue
		}
		if p.list.name == source.Wildcard {
			wildcard = p
		} else {
			names = append(names, p.list.name)
		}
	}
	return names, wildcard
}
