package adsserver

import (
	"cmp"
	"slices"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A substream is the state of one type on a stream.
type substream struct {
	stream *Stream
	kind   *kind

	subs      subs
	adds      []sub                   // to be merged into subs
	lists     []*listSub              // subscribed collections
	dirty     []*entry                // that may have something to send, in any order
	lacking   []*entry                // dirty ones without content, while the others are sent
	beats     []*entry                // with a heartbeat to send
	owed      []string                // delta: removals to send: of names that are not subscribed to, and those beyond the limit of a response
	waiting   int                     // subscriptions of which not everything is known
	waitsFor  map[*feed]int           // the same by their source; nil with one source
	puts      bool                    // dirty may have an entry with content
	encoding  uint64                  // state of the world: id of the next subscription whose content is to be encoded
	encoded   uint64                  // stamp of the last content when all were encoded
	asked     []*entry                // state of the world: names of the last request
	joining   []joining               // collections whose members are still to be added
	leaving   []*collection           // collections whose members are still to be dropped
	gone      bool                    // dirty may have an entry without content, or a list is not answered
	later     bool                    // removals wait for the end of a change
	held      []*entry                // delta: of these removals
	warms     bool                    // state of the world: a resource of the type that refers to this one has changed
	explicit  bool                    // state of the world: a request had names
	returning bool                    // state of the world: the first request had a version
	direct    int32                   // subscriptions to names, not by collections
	repeated  uint64                  // state of the world: responses so far, and one, when all were last to be sent again; 0: never
	names     uint64                  // state of the world: digest of the names of the last request
	claims    *claims                 // delta: versions that the client has from an earlier stream; nil if there are none
	refused   map[string]refusalState // names without permission
	untold    []string                // names in refused of which the client was not told, and pardoned ones
	pardons   int                     // pardoned names in untold

	behind   int64      // since when the client lacks the newest resources, in ns since 1970; 0: it has them
	version  string     // of the last response
	accepted string     // of the last response that the client accepted
	rejects  string     // of the last response that the client rejected
	sent     uint64     // responses
	nonce    uint64     // of the last response; 0: none
	acked    uint64     // the last nonce that the client accepted
	nacked   uint64     // the last nonce that the client rejected
	reason   string     // of that
	rejected int        // NACKs
	last     []*content // of the last response, until it is answered
}

type flags uint8

const (
	byName flags = 1 << iota // the client subscribes to the name
	member                   // the client subscribes to the collection of the name
	waits                    // counted in waiting
	resend                   // the client asks for it again
	absent                   // the client was told that it does not exist
	named                    // mark of sotwRequest
	late                     // began after the client had unsubscribed from something; see claims
	pays                     // counted in the memory of its client: the name
)

func (f flags) has(g flags) bool { return f&g != 0 }

// A listSub is a subscription to a collection.
type listSub struct {
	list  *collection
	place int    // in the lists of the substream
	waits bool   // counted in waiting
	told  bool   // answered, if it had no members
	named bool   // mark of sotwRequest
	late  bool   // as of a sub
	again uint64 // responses so far, and one, when the client last subscribed again; 0: it has not
}

// find returns the subscription to an entry, or nil. It is valid until subs change.
func (s *substream) find(e *entry) *sub { return s.subs.find(e.id) }

// note records that an entry may have something to send.
func (s *substream) note(e *entry) {
	if s.stream.err != nil {
		return // it is leaving
	}
	s.lag()
	if e.content != nil || e.failure != nil {
		s.puts = true
	} else {
		s.gone = true
		s.stream.removes()
	}
	if len(s.dirty) == cap(s.dirty) && len(s.dirty) > 2*s.subs.n {
		s.dirty = s.trim(s.dirty) // a client that does not read must not make it grow
	}
	s.dirty = append(s.dirty, e)
	s.stream.touch()
}

// lag records that the client lacks something from now on. It is called before the state changes.
func (s *substream) lag() {
	if s.behind == 0 || s.current() {
		s.behind = s.stream.core.clock()
	}
}

// ordered orders entries by id, each once.
func ordered(list []*entry) []*entry {
	byID := func(a, b *entry) int { return cmp.Compare(a.id, b.id) }
	if !slices.IsSortedFunc(list, byID) {
		slices.SortFunc(list, byID)
	}
	return slices.Compact(list)
}

// taken is the number of dirty entries that are handled at a time, in parts of a request.
const taken = 16

// take removes some dirty entries, and returns them in their order, each once. The list is valid until the next call, and the
// caller clears it.
func (s *substream) take() []*entry {
	c := s.stream.core
	n := min(len(s.dirty), taken*c.part)
	c.taken = append(c.taken[:0], s.dirty[:n]...)
	list := c.taken
	if n == len(s.dirty) {
		s.dirty = shrink(s.dirty)
	} else {
		clear(s.dirty[:n])
		s.dirty = s.dirty[n:]
	}
	return ordered(list)
}

// trim returns the entries to which the client still subscribes. Others would keep their names, which nothing charges
// any longer.
func (s *substream) trim(list []*entry) []*entry {
	return ordered(slices.DeleteFunc(list, func(e *entry) bool { return s.find(e) == nil }))
}

// tidy trims the entries that are noted after subscriptions have ended, if that pays.
func (s *substream) tidy() {
	if s.subs.n == 0 {
		s.dirty, s.lacking, s.beats, s.held = nil, nil, nil, nil
	}
	if len(s.lacking) > 2*s.subs.n {
		s.lacking = s.trim(s.lacking)
	}
	if len(s.dirty) > 2*s.subs.n {
		s.dirty = s.trim(s.dirty)
	}
	if len(s.held) > 2*s.subs.n {
		s.held = s.trim(s.held)
	}
}

// add subscribes to an entry when merge is called.
func (s *substream) add(e *entry, f flags) {
	if c := s.stream.core; s.adds == nil {
		s.adds, c.adds = c.adds, nil
	}
	s.adds = append(s.adds, sub{id: e.id, entry: e, flags: f})
}

// merge subscribes to the added entries.
func (s *substream) merge() {
	if len(s.adds) == 0 {
		return
	}
	byID := func(a, b sub) int { return cmp.Compare(a.id, b.id) }
	slices.SortStableFunc(s.adds, byID)
	adds := s.adds[:0]
	for _, a := range s.adds {
		if n := len(adds); n > 0 && adds[n-1].entry == a.entry {
			adds[n-1].flags |= a.flags
			continue
		}
		adds = append(adds, a)
	}
	fresh := adds[:0]
	for _, a := range adds {
		if old := s.find(a.entry); old != nil {
			s.extend(old, a.flags)
		} else {
			a.place = a.entry.addUser(s)
			fresh = append(fresh, a)
		}
	}
	s.subs.add(fresh...)
	for _, a := range fresh {
		p := s.find(a.entry)
		p.flags = 0
		s.inherit(p)
		s.extend(p, a.flags)
	}
	clear(s.adds)
	if cap(s.adds) <= spare {
		s.stream.core.adds = s.adds[:0]
	}
	s.adds = nil
}

// merged returns a function that merges a part of a request. If the request ends no subscriptions, it also checks the budget
// of the client, so that a large request exceeds it by a part.
func (s *substream) merged(grows bool) func() error {
	return func() error {
		s.merge()
		if grows {
			return s.stream.charge()
		}
		return nil
	}
}

// extend adds reasons to a subscription.
func (s *substream) extend(p *sub, f flags) {
	e := p.entry
	if f.has(byName) && !p.flags.has(byName) {
		s.stream.count(1, e.name)
		s.direct++
		e.explicit++
		if e.explicit == 1 {
			e.feed.want(s.kind, e.name, add)
			s.pay(p)
		}
		if !e.known && e.asked == nil && e.failure == nil {
			e.asked = s.stream.core.ask(&question{entry: e})
		}
		if !e.known && (e.failure == nil || !s.replaces() || s.patientOfName()) {
			p.flags |= waits
			s.await(e.feed)
		}
		p.flags &^= late
		if s.claims != nil && s.claims.disclaims {
			p.flags |= late
		}
	}
	p.flags |= f
	if p.shown() || e.known {
		s.note(e)
	}
}

// join makes an entry with content a member of a subscribed collection.
func (s *substream) join(e *entry) {
	if p := s.find(e); p != nil {
		p.flags |= member
		return
	}
	s.subs.add(sub{id: e.id, entry: e, place: e.addUser(s), flags: member})
	s.inherit(s.find(e))
	s.note(e)
}

// inherit notes that the client has the content of a new subscription by another of its names, so that
// it is told of its removal.
func (s *substream) inherit(p *sub) {
	x := p.entry.content
	if x == nil || len(x.aliases) == 0 || !s.stream.delta || s.sent == 0 {
		return
	}
	for _, name := range append([]string{x.name}, x.aliases...) {
		if e := s.kind.entries[name]; e != nil && e != p.entry && e.content == x {
			if q := s.find(e); q != nil && q.stamp == x.stamp {
				p.stamp = x.stamp
			}
		}
	}
}

// subscribe subscribes to a name, and returns its entry, or nil for a collection. merge and joinMembers must follow.
func (s *substream) subscribe(name string, f flags) *entry {
	c, k := s.stream.core, s.kind
	if !isCollection(name) {
		e := k.entries[name]
		if e == nil {
			if name = canonical(name); isCollection(name) {
				return s.subscribe(name, f)
			}
			e = c.entryOf(k, name)
		}
		s.add(e, f|byName)
		return e
	}
	name = canonical(name)
	if l := s.listOf(name); l != nil {
		s.again(l)
		return nil
	}
	if k.abandoned(name) {
		s.merge() // the added entries may belong only to the streams that leave
		if s.clear(name) != nil {
			return nil
		}
	}
	l := c.collectionOf(k, name, c.route(name))
	if s.claims != nil {
		s.claims.again() // the client may have members by their aliases
	}
	if l.streams == nil {
		l.streams = make(map[*substream]*listSub)
	}
	if len(l.streams) == 0 {
		l.complete = l.feed == nil
		l.feed.want(k, name, add)
	}
	if !l.complete && l.asked == nil && name != source.Wildcard { // a response without it would say that nothing exists
		l.asked = c.ask(&question{list: l})
	}
	p := &listSub{list: l, place: len(s.lists), waits: !l.complete, named: f.has(named), late: s.claims != nil && s.claims.disclaims}
	l.streams[s] = p
	s.stream.count(1, name)
	s.stream.cost += collectionCost
	s.stream.collections++
	s.lists = append(s.lists, p)
	if !l.complete {
		s.await(l.feed)
	}
	s.gone = true
	s.stream.touch()
	s.joining = append(s.joining, joining{l, member | f&resend, len(l.members)})
	return nil
}

// again answers a subscription to a collection that the stream subscribes to already. Members that wait to be sent
// again are not marked once more: each mark costs the client a few bytes, and the server a look at all members.
func (s *substream) again(l *listSub) {
	l.told, s.gone = false, true
	s.stream.touch()
	if l.again == s.sent+1 {
		return
	}
	l.again = s.sent + 1
	s.joining = append(s.joining, joining{l.list, member | resend, len(l.list.members)})
}

// listOf returns the subscription to a collection, or nil.
func (s *substream) listOf(name string) *listSub {
	if l := s.kind.collections[name]; l != nil {
		return l.streams[s]
	}
	return nil
}

// resolve records that everything about a name is known.
func (s *substream) resolve(e *entry) {
	if p := s.find(e); p != nil && p.flags.has(waits) {
		p.flags &^= waits
		s.known(e.feed)
	}
}

// await counts a subscription of which not everything is known.
func (s *substream) await(f *feed) {
	s.waiting++
	if len(s.stream.core.feeds) > 1 {
		if s.waitsFor == nil {
			s.waitsFor = make(map[*feed]int)
		}
		s.waitsFor[f]++
	}
}

// known counts a subscription of which everything is known now, or that has ended. After the last one of a source, its
// claims can be compared.
func (s *substream) known(f *feed) {
	s.waiting--
	left := s.waiting
	if s.waitsFor != nil {
		s.waitsFor[f]--
		left = s.waitsFor[f]
	}
	if left == 0 && s.claims != nil {
		s.claims.again()
		s.gone = true
		s.stream.touch()
	}
}

// learned records that everything about a collection is known.
func (s *substream) learned(p *listSub) {
	s.gone = true
	s.stream.touch()
	if p.waits {
		p.waits = false
		s.known(p.list.feed)
	}
	if len(s.dirty) > 0 {
		s.puts = true // a state-of-the-world response may have waited
	}
}

// unsubscribe ends a subscription to a name or a collection. compact and leaveLists must follow.
func (s *substream) unsubscribe(name string) {
	name = canonical(name)
	if isCollection(name) {
		if l := s.listOf(name); l != nil {
			s.dropList(l)
		}
		return
	}
	if e := s.kind.entries[name]; e != nil {
		if p := s.find(e); p != nil && p.flags.has(byName) {
			s.dropName(p)
		}
	}
}

// dropName ends the subscription to a name. The client gets the state of a name that it is still
// subscribed to through a collection.
func (s *substream) dropName(p *sub) {
	e := p.entry
	s.stream.count(-1, e.name)
	s.claims.doubt(e.name)
	s.direct--
	if e.failure != nil && p.stamp == e.failure.stamp {
		p.stamp = 0 // the client has no resource whose removal it must be told
	}
	e.explicit--
	if e.explicit == 0 {
		s.stream.core.abandon(s.kind, e)
	}
	if p.flags.has(waits) {
		s.known(e.feed)
	}
	p.flags &^= byName | waits | absent
	s.stopPaying(p)
	s.owe(p)
	covered := p.flags.has(member) || p.stamp != 0 && s.subscribesTo(e.collection.name)
	if covered && (e.content != nil || p.stamp != 0) { // the client gets its state, or its removal
		p.flags |= member | resend
		s.note(e)
		return
	}
	s.drop(p)
}

// owe notes the removal of a resource that the client has by an alias from which it unsubscribes, and
// by a collection. Nothing else would tell it.
func (s *substream) owe(p *sub) {
	name := p.entry.was
	if p.stamp == 0 || name == "" || p.entry.content != nil || !s.stream.delta {
		return
	}
	if e := s.kind.entries[name]; (e == nil || e.content == nil) && s.subscribesTo(collectionName(name)) {
		s.owed = append(s.owed, name)
		s.claims.settle(name)
		s.gone = true
		s.stream.touch()
	}
}

// drop ends a subscription without reasons.
func (s *substream) drop(p *sub) {
	s.removed(p)
	s.subs.end(p)
	p.entry.removeUser(p)
	s.stream.core.release(s.kind, p.entry)
}

// leave ends all subscriptions when the stream ends. Others may have the lock in between.
func (s *substream) leave() {
	breathe := func() error { s.stream.core.breathe(); return nil }
	s.dropLists(breathe)
	_ = s.eachPart(func(p *sub) { // breathe returns no error
		e := p.entry
		if p.flags.has(byName) {
			e.explicit--
			if e.explicit == 0 {
				s.stream.core.abandon(s.kind, e)
			}
			s.stopPaying(p)
		}
		s.drop(p)
	}, breathe)
	_ = s.forgetLists(slices.Clone(s.leaving), breathe)
	s.subs = subs{}
	s.lacking = nil
	s.adds, s.dirty, s.beats, s.claims, s.last, s.refused, s.untold, s.owed = nil, nil, nil, nil, nil, nil, nil, nil
	s.joining, s.asked, s.held = nil, nil, nil
	s.puts, s.gone, s.later = false, false, false
	s.stream.core.leave(s.kind)
}
