package adsserver

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A claims has the resources of one type that a client says it has from an earlier stream, by
// initial_resource_versions. They are kept until they have been compared with the resources of the sources.
// Each costs the bytes of its name and its version and about 12 more, so that a client can claim all resources
// of a large store.
type claims struct {
	seed      maphash.Seed
	records   []byte           // of each claim: its state, the lengths of name and version, and both
	table     []uint32         // hash table of the places of records, from 1
	next      int              // place of the next record to compare
	postponed bool             // a record before it belongs to a source that has not answered
	disclaims bool             // the client has unsubscribed from something since
	revisions map[*feed]uint64 // the greatest revisions of the versions
}

// States of claims.
const (
	claimSettled byte = iota
	claimOpen         // the client says that it has the resource
	claimDoubted      // it has said so, and may have forgotten the resource since
)

// newClaims returns the claims of a request, or nil. It does not need the lock of the core.
func (c *Core) newClaims(pairs [][2][]byte) (*claims, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	limits := &c.config.Limits
	size, places := 0, 2
	for _, pair := range pairs {
		n := max(len(pair[0]), len(pair[1]))
		if n > limits.NameBytes {
			return nil, &LimitError{Limit: "length of a name or a version", Value: n, Max: limits.NameBytes, Option: "Limits.NameBytes"}
		}
		size += 1 + protowire.SizeBytes(len(pair[0])) + protowire.SizeBytes(len(pair[1]))
	}
	for places < len(pairs)+len(pairs)/2 {
		places *= 2
	}
	if cost := size + 4*places; cost > limits.InitialBytes {
		return nil, &LimitError{Limit: "bytes of initial_resource_versions", Value: cost, Max: limits.InitialBytes, Option: "Limits.InitialBytes"}
	}
	x := &claims{seed: c.seed, records: make([]byte, 0, size), table: make([]uint32, places), revisions: make(map[*feed]uint64)}
	for _, pair := range pairs {
		name := pair[0]
		if bytes.HasPrefix(name, []byte("xdstp:")) {
			name = []byte(canonical(string(name)))
		}
		x.add(name, pair[1])
		if revision, ok := revisionOf(pair[1]); ok {
			if f := c.route(string(name)); f != nil {
				x.revisions[f] = max(x.revisions[f], revision)
			}
		}
	}
	return x, nil
}

// revisionOf returns the revision in a version of the form REVISION-DIGEST, which sources that count revisions use.
func revisionOf(version []byte) (uint64, bool) {
	text, _, ok := bytes.Cut(version, []byte("-"))
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text), 36, 63)
	return n, err == nil
}

// cost returns the memory of the claims in bytes.
func (x *claims) cost() int {
	if x == nil {
		return 0
	}
	return cap(x.records) + 4*len(x.table)
}

func (x *claims) add(name, version []byte) {
	slot, place := x.find(name)
	if place > 0 {
		x.records[place-1] = claimSettled // the last one counts
	}
	x.table[slot] = uint32(len(x.records) + 1) //nolint:gosec // below the limit of bytes
	x.records = append(x.records, claimOpen)
	x.records = protowire.AppendBytes(x.records, name)
	x.records = protowire.AppendBytes(x.records, version)
}

// find returns the slot of a name in the table, and the place of its record; 0 if there is none.
func (x *claims) find(name []byte) (slot, place int) {
	mask := len(x.table) - 1
	slot = int(maphash.Bytes(x.seed, name)) & mask //nolint:gosec // only the lower bits are used
	for ; x.table[slot] != 0; slot = (slot + 1) & mask {
		place = int(x.table[slot])
		if n, _, _ := x.at(place - 1); bytes.Equal(n, name) {
			return slot, place
		}
	}
	return slot, 0
}

// at returns the record at an index, and the index of the next one.
func (x *claims) at(i int) (name, version []byte, next int) {
	take := func(at int) ([]byte, int) {
		n, size := binary.Uvarint(x.records[at:])
		end := at + size + int(n) //nolint:gosec // a length of ours
		return x.records[at+size : end], end
	}
	name, next = take(i + 1)
	version, next = take(next)
	return name, version, next
}

// version returns the version of a resource that the client claims to have, and still has.
func (x *claims) version(name string) (version string, ok bool) {
	if x == nil {
		return "", false
	}
	_, place := x.find([]byte(name))
	if place == 0 || x.records[place-1] != claimOpen {
		return "", false
	}
	_, v, _ := x.at(place - 1)
	return string(v), true
}

// settle forgets a claim, because the client receives the resource or its removal.
func (x *claims) settle(name string) { x.mark(name, claimSettled) }

// doubt distrusts a claim, because the client unsubscribes from the name: it may forget a resource that it has by a
// collection, too. It receives the resource again, or its removal.
func (x *claims) doubt(name string) { x.mark(name, claimDoubted) }

// mark changes the state of a claim that is not settled.
func (x *claims) mark(name string, state byte) {
	if x == nil {
		return
	}
	if _, place := x.find([]byte(name)); place > 0 && x.records[place-1] != claimSettled {
		x.records[place-1] = state
	}
}

// claim keeps the claims of the first request, and charges them.
func (s *substream) claim(x *claims) {
	if x == nil {
		return
	}
	s.claims = x
	s.stream.claimed += x.cost()
	for f, revision := range x.revisions {
		s.stream.behind.add(f, "", revision)
	}
	s.gone = true // something may be gone
	s.stream.touch()
}

// unclaim forgets all claims.
func (s *substream) unclaim() {
	s.stream.claimed -= s.claims.cost()
	s.claims = nil
	s.stream.budget.update(s.stream)
}

// disclaim distrusts the claims of resources that the client may have dropped, because it has unsubscribed from
// their name, alias or collection. Only subscriptions from before tell that it has a resource. It may still have one
// by an alias, so that a removal is told.
func (s *substream) disclaim() {
	if s.claims != nil {
		s.claims.disclaims = true
	}
}

// holds reports whether the client has a content from an earlier stream.
func (s *substream) holds(x *content) bool {
	version, ok := s.claims.version(x.name)
	if !ok || x.err != nil || !source.SameVersion(version, x.version) {
		return false
	}
	if !s.claims.disclaims {
		return true
	}
	if e := s.kind.entries[x.name]; e != nil {
		if p := s.find(e); p != nil && p.flags.has(byName) && !p.flags.has(late) {
			return true
		}
	}
	l := s.listOf(collectionName(x.name))
	return l != nil && !l.late
}

// compared is the number of claims that are compared at a time.
const compared = 1000

// again has all claims looked at again. Those that were compared are settled, or belong to no subscription.
func (x *claims) again() { x.next, x.postponed = 0, false }

// postpones reports whether a claim waits for its source, which has not answered all names of the client. Claims of
// other sources do not.
func (s *substream) postpones(name string) bool {
	return s.waiting > 0 && s.waitsFor[s.stream.core.route(name)] > 0
}

// compares reports whether there are claims to compare now.
func (s *substream) compares() bool {
	return s.claims != nil && (s.waiting == 0 || s.waitsFor != nil && s.claims.next < len(s.claims.records))
}

// compare compares some claims with the resources, once the source of each has answered everything that the client
// subscribes to. It reports whether it was interrupted. The removals are sent in the same event as the end of the last part: a
// client that has a resource by an alias hears that the alias is gone before it can subscribe to the collection.
func (s *substream) compare() (interrupted bool) {
	x := s.claims
	if !s.compares() {
		return false
	}
	for range compared {
		switch {
		case x.next == len(x.records) && x.postponed:
			return false
		case x.next == len(x.records):
			s.unclaim()
			return false
		case len(s.owed) >= maxRemoved:
			return false
		}
		name, _, next := x.at(x.next)
		switch {
		case x.records[x.next] == claimSettled:
		case s.postpones(string(name)):
			x.postponed = true
		case s.decide(string(name)):
			x.records[x.next] = claimSettled
		}
		x.next = next
	}
	return true
}

// decide compares one claim: the client has the resource, or an older version of it, or it is gone. It returns
// false for a resource that does not belong to a subscription.
func (s *substream) decide(name string) bool {
	e := s.kind.entries[name]
	if e == nil || e.content == nil {
		if !s.subscribesTo(collectionName(name)) {
			return false
		}
		s.owed = append(s.owed, name)
		return true
	}
	switch p := s.find(e); {
	case p == nil || e.content.name != name:
		return false
	case s.holds(e.content):
		s.has(p, e.content)
	case p.stamp == 0:
		p.stamp = older
	}
	return true
}

// older is the stamp of a content that the client has from an earlier stream, and that is not the current one.
const older = ^uint64(0)
