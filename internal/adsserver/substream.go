package adsserver

import (
	"cmp"
	"slices"
)

// A substream is the state of one type on a stream.
type substream struct {
	stream *Stream
	kind   *kind

	subs     []sub                   // ordered by the ids of their entries
	adds     []sub                   // to be merged into subs
	lists    []*listSub              // subscribed collections
	dirty    []*entry                // that may have something to send, in any order
	beats    []*entry                // with a heartbeat to send
	owed     []string                // delta: removals to send: of names that are not subscribed to, and those beyond the limit of a response
	waiting  int                     // subscriptions of which not everything is known
	puts     bool                    // dirty may have an entry with content
	left     bool                    // the client has unsubscribed from a collection whose members are still in subs
	gone     bool                    // dirty may have an entry without content, or a list is not answered
	explicit bool                    // state of the world: a request had names
	names    uint64                  // state of the world: digest of the names of the last request
	claims   *claims                 // delta: versions that the client has from an earlier stream; nil if there are none
	refused  map[string]refusalState // names without permission
	untold   []string                // names in refused of which the client was not told, and pardoned ones
	pardons  int                     // pardoned names in untold

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

// A sub is a subscription of a stream to a name.
type sub struct {
	entry *entry
	stamp uint64 // of the content that the client has; 0: none
	place uint32 // of the substream in the users of the entry
	flags flags
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
)

func (f flags) has(g flags) bool { return f&g != 0 }

// A listSub is a subscription to a collection.
type listSub struct {
	list  *collection
	place int  // in the lists of the substream
	waits bool // counted in waiting
	told  bool // answered, if it had no members
	named bool // mark of sotwRequest
	late  bool // as of a sub
}

// find returns the subscription to an entry, or nil. It is valid until subs change.
func (s *substream) find(e *entry) *sub {
	i, ok := slices.BinarySearchFunc(s.subs, e.id, func(x sub, id uint64) int { return cmp.Compare(x.entry.id, id) })
	if !ok || s.subs[i].entry != e {
		return nil
	}
	return &s.subs[i]
}

// note records that an entry may have something to send.
func (s *substream) note(e *entry) {
	s.lag()
	if e.content != nil {
		s.puts = true
	} else {
		s.gone = true
	}
	if len(s.dirty) == cap(s.dirty) && len(s.dirty) > 2*len(s.subs) {
		s.sortDirty() // a client that does not read must not make it grow
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

// sortDirty orders the dirty entries by id, each once.
func (s *substream) sortDirty() {
	byID := func(a, b *entry) int { return cmp.Compare(a.id, b.id) }
	if !slices.IsSortedFunc(s.dirty, byID) {
		slices.SortFunc(s.dirty, byID)
	}
	s.dirty = slices.Compact(s.dirty)
}

// add subscribes to an entry when merge is called.
func (s *substream) add(e *entry, f flags) {
	s.adds = append(s.adds, sub{entry: e, flags: f})
}

// merge subscribes to the added entries.
func (s *substream) merge() {
	if len(s.adds) == 0 {
		return
	}
	byID := func(a, b sub) int { return cmp.Compare(a.entry.id, b.entry.id) }
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
	s.insert(fresh)
	for _, a := range fresh {
		p := s.find(a.entry)
		p.flags = 0
		s.inherit(p)
		s.extend(p, a.flags)
	}
	s.adds = nil
}

// insert merges new subscriptions, in order, into the ordered ones.
func (s *substream) insert(fresh []sub) {
	if len(fresh) == 0 {
		return
	}
	if n := len(s.subs); n == 0 || s.subs[n-1].entry.id < fresh[0].entry.id {
		s.subs = append(slices.Grow(s.subs, len(fresh)), fresh...)
		return
	}
	merged := make([]sub, 0, len(s.subs)+len(fresh))
	for _, old := range s.subs {
		for len(fresh) > 0 && fresh[0].entry.id < old.entry.id {
			merged, fresh = append(merged, fresh[0]), fresh[1:]
		}
		merged = append(merged, old)
	}
	merged = append(merged, fresh...)
	s.subs = merged
}

// extend adds reasons to a subscription.
func (s *substream) extend(p *sub, f flags) {
	e := p.entry
	if f.has(byName) && !p.flags.has(byName) {
		s.stream.count(1, e.name)
		e.explicit++
		if e.explicit == 1 {
			e.feed.want(s.kind, e.name, add)
		}
		if !e.known {
			p.flags |= waits
			s.waiting++
		}
		p.flags &^= late
		if s.claims != nil && s.claims.disclaims {
			p.flags |= late
		}
	}
	p.flags |= f
	if e.content != nil || e.known {
		s.note(e)
	}
}

// join makes an entry with content a member of a subscribed collection.
func (s *substream) join(e *entry) {
	if p := s.find(e); p != nil {
		p.flags |= member
		return
	}
	s.insert([]sub{{entry: e, place: e.addUser(s), flags: member}})
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

// subscribe subscribes to a name, and returns its entry or collection. merge must follow.
func (s *substream) subscribe(name string, f flags) {
	c, k := s.stream.core, s.kind
	if !isCollection(name) {
		e := k.entries[name]
		if e == nil {
			if name = canonical(name); isCollection(name) {
				s.subscribe(name, f)
				return
			}
			e = c.entryOf(k, name)
		}
		s.add(e, f|byName)
		return
	}
	name = canonical(name)
	if l := s.listOf(name); l != nil {
		s.again(l)
		return
	}
	l := c.collectionOf(k, name, c.route(name))
	if l.streams == nil {
		l.streams = make(map[*substream]*listSub)
	}
	if len(l.streams) == 0 {
		l.complete = l.feed == nil
		l.feed.want(k, name, add)
	}
	p := &listSub{list: l, place: len(s.lists), waits: !l.complete, named: f.has(named), late: s.claims != nil && s.claims.disclaims}
	l.streams[s] = p
	s.stream.count(1, name)
	s.stream.collections++
	s.lists = append(s.lists, p)
	if !l.complete {
		s.waiting++
	}
	s.gone = true
	s.stream.touch()
	for _, e := range l.members {
		if e.content != nil {
			s.add(e, member|f&resend)
		}
	}
}

// again answers a subscription to a collection that the stream subscribes to already.
func (s *substream) again(l *listSub) {
	l.told, s.gone = false, true
	s.stream.touch()
	for _, e := range l.list.members {
		if e.content != nil {
			s.add(e, member|resend)
		}
	}
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
		s.waiting--
	}
}

// learned records that everything about a collection is known.
func (s *substream) learned(p *listSub) {
	if p.waits {
		p.waits, s.gone = false, true
		s.waiting--
		s.stream.touch()
	}
	if len(s.dirty) > 0 {
		s.puts = true // a state-of-the-world response may have waited
	}
}

// unsubscribe ends a subscription to a name or a collection. compact must follow.
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
	e.explicit--
	if e.explicit == 0 {
		e.feed.want(s.kind, e.name, drop)
		e.known = e.feed == nil
	}
	if p.flags.has(waits) {
		s.waiting--
	}
	p.flags &^= byName | waits | absent
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
	p.flags = 0
	p.entry.removeUser(p)
	s.stream.core.release(s.kind, p.entry)
}

// dropList ends the subscription to a collection. compact must follow: it drops the members.
func (s *substream) dropList(l *listSub) {
	last := len(s.lists) - 1
	moved := s.lists[last]
	s.lists[l.place], moved.place = moved, l.place
	s.lists[last] = nil
	s.lists = s.lists[:last]
	s.stream.count(-1, l.list.name)
	s.stream.collections--
	if l.waits {
		s.waiting--
	}
	s.leaveList(l.list)
	s.left = true
}

func (s *substream) leaveList(l *collection) {
	delete(l.streams, s)
	if len(l.streams) > 0 {
		return
	}
	l.feed.want(s.kind, l.name, drop)
	s.stream.core.dropCollection(s.kind, l)
}

// dropMembers drops the members of all collections from which the client has unsubscribed.
func (s *substream) dropMembers() {
	s.left = false
	for i := range s.subs {
		p := &s.subs[i]
		if !p.flags.has(member) || p.entry.collection.streams[s] != nil {
			continue
		}
		if p.flags &^= member; !p.flags.has(byName) {
			s.drop(p)
		}
	}
}

// compact removes ended subscriptions.
func (s *substream) compact() {
	if s.left {
		s.dropMembers()
	}
	s.subs = slices.DeleteFunc(s.subs, func(p sub) bool { return p.flags == 0 })
	if cap(s.subs) > 64 && len(s.subs) < cap(s.subs)/4 {
		s.subs = slices.Clone(s.subs)
	}
}

// leave ends all subscriptions when the stream ends.
func (s *substream) leave() {
	for _, l := range s.lists {
		s.leaveList(l.list)
	}
	s.stream.collections -= len(s.lists)
	s.lists = nil
	for i := range s.subs {
		p := &s.subs[i]
		e := p.entry
		if p.flags.has(byName) {
			e.explicit--
			if e.explicit == 0 {
				e.feed.want(s.kind, e.name, drop)
				e.known = e.feed == nil
			}
		}
		s.drop(p)
	}
	s.subs, s.adds, s.dirty, s.beats, s.claims, s.last, s.refused, s.untold, s.owed = nil, nil, nil, nil, nil, nil, nil, nil, nil
	s.puts, s.gone = false, false
	s.stream.core.leave(s.kind)
}
