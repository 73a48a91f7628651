package client

import (
	"hash/maphash"
	"unsafe"

	"github.com/xdsforge/xdsforge/framework/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A memory is what a stream's reader remembers of state-of-the-world responses: the
// resources of each type by their bytes. Servers send all of a type again when one has
// changed, in any order. What is as it was is recognised by its bytes alone: no name is
// looked for, the cache is not asked, and the loop is told where it keeps it.
type memory map[*resource.Type]*seen

// seen is the memory of one type: a hash table from bytes to items.
type seen struct {
	seed     maphash.Seed
	slots    []slot // a power of two, of which a part is always empty
	items    []item
	limit    int    // items at which those that are out of date are dropped
	response uint32 // counts responses
}

type slot struct {
	hash uint64
	item int // plus one; 0: the slot is empty
}

type item struct {
	raw      string // the bytes that the update was decoded from
	update   resource.Update
	place    authority.Place
	response uint32 // the last one that it was in
}

// of returns the memory of a type, for the next response.
func (m memory) of(t *resource.Type) *seen {
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
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // updates never change their bytes, and no response outlives its look-up
}

// unchanged recognises a resource that came without a wrapper. The second time in a
// response, it is not: whoever sends it twice is to be told.
func (s *seen) unchanged(res *transport.Resource, typeURL string) (u authority.Unchanged, is bool) {
	if len(s.items) == 0 || res.Name != "" || res.Err != nil || res.TypeURL != typeURL {
		return u, false
	}
	i, ok := s.find(maphash.Bytes(s.seed, res.Body), text(res.Body))
	if !ok || s.items[i].response == s.response {
		return u, false
	}
	s.items[i].response = s.response
	return authority.Unchanged{Update: s.items[i].update, Place: s.items[i].place}, true
}

// met reports whether the response at hand had the cached resource of a name as it was.
func (s *seen) met(shard resource.Shard, name xdstp.Name) bool {
	if len(s.items) == 0 || shard == nil {
		return false
	}
	u, ok := shard.Load(name)
	if !ok {
		return false
	}
	raw := text(u.Raw())
	i, ok := s.find(maphash.String(s.seed, raw), raw)
	return ok && s.items[i].response == s.response
}

func (s *seen) find(hash uint64, raw string) (int, bool) {
	mask := uint64(len(s.slots) - 1) //nolint:gosec // there are slots where there are items
	for at := hash & mask; s.slots[at].item != 0; at = (at + 1) & mask {
		if i := s.slots[at].item - 1; s.slots[at].hash == hash && s.items[i].raw == raw {
			return i, true
		}
	}
	return 0, false
}

// remember keeps what was new in a response, once the loop has taken it in.
func (m memory) remember(c *Client, d *decoded) {
	s := m[d.typ]
	for _, i := range d.plain {
		r := &d.results[i]
		if r.Update == nil || r.TTL != 0 || len(r.Aliases) > 0 {
			continue // there is more to it than its bytes
		}
		s.add(item{raw: text(r.Update.Raw()), update: r.Update, place: r.Place, response: s.response})
	}
	if len(s.items) > s.limit {
		s.prune(c, d.typ)
	}
}

func (s *seen) add(it item) {
	if len(s.items)*4 >= len(s.slots)*3 {
		s.grow(2 * (len(s.items) + 1))
	}
	hash := maphash.String(s.seed, it.raw)
	if i, ok := s.find(hash, it.raw); ok {
		s.items[i] = it
		return
	}
	s.items = append(s.items, it)
	s.put(hash, len(s.items))
}

func (s *seen) put(hash uint64, number int) {
	mask := uint64(len(s.slots) - 1) //nolint:gosec // there are slots
	at := hash & mask
	for s.slots[at].item != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = slot{hash, number}
}

// grow makes room for n items.
func (s *seen) grow(n int) {
	size := 64
	for size < n {
		size *= 2
	}
	s.slots = make([]slot, size)
	for i := range s.items {
		s.put(maphash.String(s.seed, s.items[i].raw), i+1)
	}
}

// prune drops what is not cached any longer.
func (s *seen) prune(c *Client, t *resource.Type) {
	kept := make([]item, 0, len(s.items))
	for _, it := range s.items {
		shard := c.Shard(t, it.update.Name())
		if shard == nil {
			continue
		}
		if u, ok := shard.Load(it.update.Name()); ok && u == it.update {
			kept = append(kept, it)
		}
	}
	s.items = kept
	s.limit = len(kept) + len(kept)/4 + 64
	s.grow(2 * len(kept))
}
