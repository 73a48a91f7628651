package client

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A memory is what a stream's reader remembers of state-of-the-world responses: the
// resources of each type by their bytes. Servers send all of a type again when one has
// changed, in any order. What is as it was is recognised by its bytes alone: no name is
// looked for, the cache is not asked, and the loop is told where it keeps it.
type memory map[*resource.Descriptor]*seen

// forget drops a resource that is not in use any longer.
func (m memory) forget(t *resource.Descriptor, name xdstp.Name) {
	s := m[t]
	if s == nil || len(s.items) == 0 {
		return
	}
	if i := *s.names.slot(name, s.name); i != 0 {
		s.items[i-1] = item{update: &forgotten{name: name}}
		s.gone++
		if s.gone > fewItems && s.gone > len(s.items)/2 {
			s.keep(func(it item) bool { return it.raw != "" })
		}
	}
}

// forgotten has the name of an update that was dropped, for as long as its item stays.
type forgotten struct {
	resource.Update
	name xdstp.Name
}

// Name implements [resource.Update].
func (f *forgotten) Name() xdstp.Name { return f.name }

// seen is the memory of one type: a hash table from bytes to items. There is one item
// for a name, so that what a resource was is not taken for another resource.
type seen struct {
	seed     maphash.Seed
	slots    []slot // a power of two, of which a part is always empty
	names    index  // of items; with as many slots
	used     int    // slots of either that are not empty; those of what was replaced stay
	items    []item
	gone     int    // items that were forgotten, about
	limit    int    // items at which those that are out of date are dropped
	response uint32 // counts responses
}

type slot struct {
	tag  uint32 // the upper half of the hash
	item uint32 // plus one; 0: the slot is empty
}

type item struct {
	raw      string // the bytes that the update was decoded from
	update   resource.Update
	place    authority.Place
	response uint32 // the last one that it was in
}

// of returns the memory of a type, for the next response.
func (m memory) of(t *resource.Descriptor) *seen {
	s := m[t]
	if s == nil {
		s = &seen{seed: maphash.MakeSeed()}
		m[t] = s
	}
	s.response++
	return s
}

// text is b as a string, without a copy; valid for as long as b does not change.
func text(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // updates never change their bytes
}

// scan recognises what is in a response as it was, of its first n resources: they are in
// w.unchanged, and have an item in w.found. The second time in a response, a resource is
// not recognised: whoever sends it twice is to be told.
//
// Ten thousand resources and what is known of them do not fit into a processor's caches.
// So each step is taken for a group of them before the next: what does not depend on each
// other waits for memory at the same time.
func (s *seen) scan(w *scratch, n int) {
	w.found = grown(w.found, n)
	if len(s.items) == 0 {
		clear(w.found)
		return
	}
	w.unchanged = slices.Grow(w.unchanged[:0], n)
	for first := 0; first < n; first += len(w.group) {
		found := w.found[first:min(first+len(w.group), n)]
		s.candidates(w, first, found)
		for i, number := range found {
			if number == 0 {
				continue
			}
			it := &s.items[number-1]
			if it.raw != text(w.group[i].body) || it.response == s.response || it.raw == "" {
				found[i] = 0
				continue
			}
			it.response = s.response
			w.unchanged = append(w.unchanged, authority.Unchanged{Update: it.update, Place: it.place})
		}
	}
}

// A candidate is a resource that may have an item.
type candidate struct {
	body []byte
	hash uint64
	raw  string // of the item
}

// cacheLine is how many bytes a processor reads from memory at once.
const cacheLine = 64

// candidates finds items for a group of resources, and has the processor read what they
// are to be compared with.
func (s *seen) candidates(w *scratch, first int, found []uint32) {
	group := w.group[:len(found)]
	for i := range group {
		c := &group[i]
		c.body, found[i] = nil, 0
		if body, ok := w.response.Plain(first + i); ok {
			c.body, c.hash, found[i] = body, s.hash(text(body)), 1
		}
	}
	for i := range group {
		if found[i] != 0 {
			found[i] = s.find(group[i].hash)
		}
	}
	for i := range group {
		group[i].raw = ""
		if found[i] != 0 {
			group[i].raw = s.items[found[i]-1].raw
		}
	}
	for i := range group {
		for at := 0; at < min(len(group[i].raw), len(group[i].body)); at += cacheLine {
			w.touched += group[i].raw[at]
		}
	}
}

// hashed is how much of a resource counts for its hash: its name is there, and most
// often within that.
const hashed = 128

// hash is what items are found by. It need not tell all of them apart: their bytes are
// compared, and what is not found here is looked for by its name.
func (s *seen) hash(raw string) uint64 {
	return maphash.String(s.seed, raw[:min(len(raw), hashed)]) ^ uint64(len(raw))
}

// find returns the first item, plus one, whose bytes may have the hash.
func (s *seen) find(hash uint64) uint32 {
	mask := uint64(len(s.slots) - 1) //nolint:gosec // there are slots where there are items
	tag := uint32(hash >> 32)
	for at := hash & mask; s.slots[at].item != 0; at = (at + 1) & mask {
		if s.slots[at].tag == tag {
			return s.slots[at].item
		}
	}
	return 0
}

// met reports whether the response at hand had the resource of a name as it was. There
// are items.
func (s *seen) met(name xdstp.Name) bool {
	i := *s.names.slot(name, s.name)
	return i != 0 && s.items[i-1].response == s.response
}

// name is that of an item.
func (s *seen) name(position uint32) xdstp.Name { return s.items[position].update.Name() }

// remember keeps what was new in a response, once the loop has taken it in.
func (m memory) remember(c *Client, d *decoded) {
	s := m[d.typ]
	s.reserve(len(d.news))
	for i := range d.news {
		f := &d.news[i]
		if !f.plain {
			continue
		}
		r := &d.results[f.result]
		if r.Update == nil || r.TTL != 0 || len(r.Aliases) > 0 {
			continue // there is more to it than its bytes
		}
		s.add(item{raw: text(r.Update.Raw()), update: r.Update, place: r.Place, response: s.response})
	}
	if len(s.items) > min(s.limit, 2*cached(c, d.typ)+fewItems) {
		s.prune(c, d.typ)
	}
}

// fewItems may be out of date in any case.
const fewItems = 64

// cached is how many resources of a type there are.
func cached(c *Client, t *resource.Descriptor) (n int) {
	for shard := range c.Shards(t) {
		n += shard.Len()
	}
	return n
}

// add keeps an item, in place of that of its name, or else of the one that may be found
// by its bytes. There is room for it.
func (s *seen) add(it item) {
	hash := s.hash(it.raw)
	found, named := s.find(hash), s.names.slot(it.update.Name(), s.name)
	if found == 0 || *named == 0 {
		s.used++
	}
	if *named == 0 {
		*named = found
	}
	if *named == 0 {
		s.items = append(s.items, item{})
		*named = uint32(len(s.items)) //nolint:gosec // responses are bounded
	}
	s.items[*named-1] = it
	if found == 0 {
		s.put(hash, *named)
	}
}

func (s *seen) put(hash uint64, number uint32) {
	mask := uint64(len(s.slots) - 1) //nolint:gosec // there are slots
	at := hash & mask
	for s.slots[at].item != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = slot{uint32(hash >> 32), number}
}

// reserve makes room for n more items.
func (s *seen) reserve(n int) {
	s.items = slices.Grow(s.items, n)
	if (s.used+n)*4 > len(s.slots)*3 {
		s.build(len(s.items) + n)
	}
}

// build makes slots for n items, and for as many that replace one as make it worth its
// while, and fills in those that there are.
func (s *seen) build(n int) {
	size := 64
	for size*2 < n*3 {
		size *= 2
	}
	s.slots, s.used = make([]slot, size), len(s.items)
	s.names.reset(size / 2)
	for i := range s.items {
		number := uint32(i + 1)
		*s.names.slot(s.items[i].update.Name(), s.name) = number
		if hash := s.hash(s.items[i].raw); s.find(hash) == 0 { // the first is found
			s.put(hash, number)
		}
	}
}

// prune drops what is not cached any longer.
func (s *seen) prune(c *Client, t *resource.Descriptor) {
	s.keep(func(it item) bool {
		shard := c.Shard(t, it.update.Name())
		if shard == nil {
			return false
		}
		u, ok := shard.Load(it.update.Name())
		return ok && u == it.update
	})
	s.limit = len(s.items) + len(s.items)/4 + fewItems
}

// keep drops the other items.
func (s *seen) keep(which func(item) bool) {
	n := len(s.items)
	s.items = slices.DeleteFunc(s.items, func(it item) bool { return !which(it) })
	if s.gone = 0; len(s.items) < n {
		s.items = slices.Clip(slices.Clone(s.items))
		s.names.slots = nil // there may be far fewer
		s.build(len(s.items))
	}
}
