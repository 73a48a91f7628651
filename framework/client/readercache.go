package client

import (
	"hash/maphash"
	"slices"
	"sync"
	"unsafe"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/internal/byname"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A readerCache is the cache of a stream's reader, with the unused updates that are still to be evicted.
// The reader uses it while it has a response. In between, the loop may use it and evict updates, because
// the next response might never come.
type readerCache struct {
	busy  sync.Mutex // held while the cache is used; the loop never waits for it
	types typeCaches

	mu     sync.Mutex
	unused []authority.Resource
}

// evict removes a resource from the cache of the current stream. Loop only.
func (ses *session) evict(r authority.Resource) {
	if ses.stream != nil && !ses.stream.delta {
		ses.stream.cache.evict(r)
	}
}

func newReaderCache() *readerCache { return &readerCache{types: make(typeCaches)} }

// evict removes a resource from the cache: now, or when the reader is done with a response.
func (c *readerCache) evict(r authority.Resource) {
	c.mu.Lock()
	c.unused = append(c.unused, r)
	c.mu.Unlock()
	c.tidy()
}

// tidy evicts the unused updates. If the cache is in use, the goroutine that unlocks it does so.
func (c *readerCache) tidy() {
	for c.waits() && c.busy.TryLock() {
		c.evictUnused()
		c.busy.Unlock()
	}
}

// evictUnused evicts the unused updates. c.busy is held.
func (c *readerCache) evictUnused() {
	for _, x := range c.take() {
		c.types.evict(x.Type, x.Name)
	}
}

func (c *readerCache) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.unused) > 0
}

func (c *readerCache) take() []authority.Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.unused
	c.unused = nil
	return list
}

// use calls f with the caches.
func (c *readerCache) use(f func(typeCaches) error) error {
	c.busy.Lock()
	c.evictUnused()
	err := f(c.types)
	c.busy.Unlock()
	c.tidy()
	return err
}

// typeCaches hold the resources of a stream's state-of-the-world responses for its reader: those of
// each type by their bytes. When one resource changes, servers send all resources of the type
// again, in any order. The reader recognises an unchanged resource by its bytes alone. It does not
// read its name or use the cache, and it tells the loop the resource's record.
type typeCaches map[*resource.Descriptor]*typeCache

// evict drops a resource that is no longer in use.
func (m typeCaches) evict(t *resource.Descriptor, name xdstp.Name) {
	s := m[t]
	if s == nil || len(s.items) == 0 {
		return
	}
	if i, ok := s.find(name.String()); ok {
		s.items[i-1] = item{update: &forgotten{name: name}}
		s.gone++
		if s.gone > fewItems && s.gone > len(s.items)/2 {
			s.keep(func(it item) bool { return it.raw != "" })
		}
	}
}

// A forgotten holds the name of a dropped update as long as its item stays.
type forgotten struct {
	resource.Update
	name xdstp.Name
}

// Name implements [resource.Update].
func (f *forgotten) Name() xdstp.Name { return f.name }

// A typeCache is the reader cache of one type: a hash table from bytes to items. It has one item for each name,
// so that an earlier version of a resource is not taken for another resource.
type typeCache struct {
	seed     maphash.Seed
	slots    []slot // the length is a power of two; some are always empty
	used     int    // slots that are not empty, including those of replaced items
	items    []item
	names    byname.Table[uint32] // numbers of the named items, from 1
	named    int                  // number of items, at the front, whose names are in names
	gone     int                  // items that were forgotten, about
	limit    int                  // number of items at which outdated ones are dropped
	response uint32               // counts responses
}

type slot struct {
	tag  uint32 // the upper half of the hash
	item uint32 // plus one; 0: the slot is empty
}

type item struct {
	raw      string // the bytes that the update was decoded from
	update   resource.Update
	record   authority.Handle
	response uint32 // the last response that contained it
}

// of returns the cache of a type, for the next response.
func (m typeCaches) of(t *resource.Descriptor) *typeCache {
	s := m[t]
	if s == nil {
		s = &typeCache{seed: maphash.MakeSeed()}
		m[t] = s
	}
	s.response++
	return s
}

// text returns b as a string, without a copy. It is valid as long as b does not change.
func text(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // updates never change their bytes
}

// scan recognises the unchanged ones among the first n resources of a response. It adds them to
// w.unchanged and sets their item in w.found. It recognises a resource only once in a response, so
// that a duplicate is reported.
//
// Ten thousand resources and their items do not fit into a processor's caches. So scan takes each
// step for a group of resources before the next step: independent reads then wait for memory at the
// same time. In BenchmarkScan, one resource after another takes 2.3 times the processor time.
func (s *typeCache) scan(w *scratch, n int) {
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
			if c := &w.group[i]; c.raw != text(c.body) || it.response == s.response || c.raw == "" {
				found[i] = 0
				continue
			}
			it.response = s.response
			w.unchanged = append(w.unchanged, authority.Unchanged{Update: it.update, Record: it.record})
		}
	}
}

// A candidate is a resource that may have an item.
type candidate struct {
	body []byte
	hash uint64
	raw  string // of the item
}

// candidates finds items for a group of resources. It makes the processor load the items.
func (s *typeCache) candidates(w *scratch, first int, found []uint32) {
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
			found[i] = s.withHash(group[i].hash)
		}
	}
	for i := range group {
		group[i].raw = ""
		if found[i] != 0 {
			group[i].raw = s.items[found[i]-1].raw
		}
	}
}

// hashed is the length of the part of a resource that is hashed. The name is in it, and mostly the
// differences, too.
const hashed = 128

// hash returns the hash of an item's bytes. Collisions are allowed: withHash's caller compares the
// bytes, and a resource that is not found here is found by its name.
func (s *typeCache) hash(raw string) uint64 {
	return maphash.String(s.seed, raw[:min(len(raw), hashed)]) ^ uint64(len(raw))
}

// withHash returns the first item, plus one, whose bytes may have the hash.
func (s *typeCache) withHash(hash uint64) uint32 {
	mask := uint64(len(s.slots) - 1) //nolint:gosec // there are slots where there are items
	tag := uint32(hash >> 32)
	for at := hash & mask; s.slots[at].item != 0; at = (at + 1) & mask {
		if s.slots[at].tag == tag {
			return s.slots[at].item
		}
	}
	return 0
}

// find returns the number of the item for a name.
func (s *typeCache) find(name string) (number uint32, ok bool) {
	s.nameAll()
	return s.names.Find(name, s.name)
}

// nameAll adds the names of new items. Until a second response or an eviction, nothing needs them: this
// saves 2 % of a start with 100,000 resources.
func (s *typeCache) nameAll() {
	s.names.Grow(len(s.items) - s.named)
	for ; s.named < len(s.items); s.named++ {
		number := uint32(s.named + 1) //nolint:gosec // responses are bounded
		s.names.Set(s.name(number), number, s.name)
	}
}

// met reports whether the current response contained the named resource unchanged.
func (s *typeCache) met(name xdstp.Name) bool {
	i, ok := s.find(name.String())
	return ok && s.items[i-1].response == s.response
}

// name returns the name of the item with a number.
func (s *typeCache) name(number uint32) string { return s.items[number-1].update.Name().String() }

// remember keeps the new resources of a response after the loop has applied it.
func (m typeCaches) remember(c *Client, d *decoded) {
	s := m[d.typ]
	s.reserve(len(d.fresh))
	for i := range d.fresh {
		f := &d.fresh[i]
		if !f.plain {
			continue
		}
		r := &d.results[f.result]
		if r.Update == nil || r.TTL != 0 || len(r.Aliases) > 0 {
			continue // its bytes are not all of it
		}
		s.add(item{raw: text(r.Update.Raw()), update: r.Update, record: r.Record, response: s.response})
	}
	switch n := cached(c, d.typ); {
	case s.limit == 0 && len(s.items) <= n: // the first response, and none of its resources was dropped
		s.allowMore()
	case len(s.items) > min(s.limit, 2*n+fewItems):
		s.prune(c, d.typ)
	}
}

// allowMore sets the limit to a quarter more items than now.
func (s *typeCache) allowMore() { s.limit = len(s.items) + len(s.items)/4 + fewItems }

// fewItems is the number of outdated items that are always allowed.
const fewItems = 64

// cached returns the number of cached resources of a type.
func cached(c *Client, t *resource.Descriptor) (n int) {
	for shard := range c.Shards(t) {
		n += shard.Len()
	}
	return n
}

// add keeps an item. It replaces the item of the same name in an earlier response, or else the one that
// withHash returns for its bytes. There is room for it.
func (s *typeCache) add(it item) {
	hash := s.hash(it.raw)
	found := s.withHash(hash)
	number := s.number(it.update.Name().String(), found)
	s.items[number-1] = it
	if found == 0 {
		s.used++
		s.put(hash, number)
	}
}

// number returns the number of the item for a name: the one that it has, or else found, unless that is 0,
// or else a new one.
func (s *typeCache) number(name string, found uint32) uint32 {
	if number, named := s.names.Find(name, s.name); named {
		return number
	}
	if found == 0 {
		s.items = append(s.items, item{})
		return uint32(len(s.items)) //nolint:gosec // responses are bounded
	}
	if int(found) <= s.named {
		s.names.Delete(s.name(found), s.name)
		s.names.Set(name, found, s.name)
	}
	return found
}

func (s *typeCache) put(hash uint64, number uint32) {
	mask := uint64(len(s.slots) - 1) //nolint:gosec // there are slots
	at := hash & mask
	for s.slots[at].item != 0 {
		at = (at + 1) & mask
	}
	s.slots[at] = slot{uint32(hash >> 32), number}
}

// reserve makes room for the n new resources of a response.
func (s *typeCache) reserve(n int) {
	if n > 0 {
		s.nameAll()
	}
	s.items = slices.Grow(s.items, n)
	if (s.used+n)*4 > len(s.slots)*3 {
		s.build(len(s.items) + n)
	}
}

// build makes slots for n items, and for so many replaced ones that rebuilding pays off. Then it
// adds the existing items.
func (s *typeCache) build(n int) {
	size := 64
	for size*2 < n*3 {
		size *= 2
	}
	s.slots, s.used = make([]slot, size), len(s.items)
	for i := range s.items {
		if hash := s.hash(s.items[i].raw); s.withHash(hash) == 0 { // it returns the first one
			s.put(hash, uint32(i+1))
		}
	}
}

// prune drops items that are no longer cached. Those that an authority has taken from the current
// response are.
func (s *typeCache) prune(c *Client, t *resource.Descriptor) {
	s.keep(func(it item) bool {
		if it.response == s.response && it.record != (authority.Handle{}) {
			return true
		}
		shard := c.Shard(t, it.update.Name())
		if shard == nil {
			return false
		}
		u, ok := shard.Load(it.update.Name())
		return ok && u == it.update
	})
	s.allowMore()
}

// keep drops the items for which which returns false.
func (s *typeCache) keep(which func(item) bool) {
	n := len(s.items)
	s.items = slices.DeleteFunc(s.items, func(it item) bool { return !which(it) })
	if s.gone = 0; len(s.items) < n {
		s.items = slices.Clip(slices.Clone(s.items))
		s.names, s.named = byname.Table[uint32]{}, 0 // there may be far fewer
		s.build(len(s.items))
	}
}
