package adsserver

import (
	"iter"
	"slices"
)

// A sub is a subscription of a stream to a name.
type sub struct {
	id    uint64 // of the entry
	entry *entry
	stamp uint64 // of the content that the client has; 0: none
	place uint32 // of the substream in the users of the entry
	flags flags
}

// A subs has the subscriptions of a substream in the order of their ids. To find, add or remove one costs the
// logarithm of their number. A pointer to a subscription is valid until they change.
type subs struct {
	chunks [][]sub // none is empty
	n      int
	ended  []uint64 // ids of subscriptions without flags, which compact removes
}

// chunkSize is the limit of subscriptions that are moved at once.
const chunkSize = 256

// chunkOf returns the index of the chunk that has an id, or would have it: the first one that ends at it or
// later.
func (l *subs) chunkOf(id uint64) int {
	low, high := 0, len(l.chunks)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if c := l.chunks[mid]; c[len(c)-1].id < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// indexIn returns the index of the first subscription in a chunk with an id that is not lower.
func indexIn(c []sub, id uint64) int {
	low, high := 0, len(c)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if c[mid].id < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// find returns the subscription to an entry, or nil.
func (l *subs) find(id uint64) *sub {
	i := l.chunkOf(id)
	if i == len(l.chunks) {
		return nil
	}
	c := l.chunks[i]
	if j := indexIn(c, id); c[j].id == id {
		return &c[j]
	}
	return nil
}

// add adds subscriptions that are not there, in the order of their ids.
func (l *subs) add(fresh ...sub) {
	for len(fresh) > 0 {
		last := len(l.chunks) - 1
		if last >= 0 && l.chunks[last][len(l.chunks[last])-1].id > fresh[0].id {
			l.insert(fresh[0])
			fresh = fresh[1:]
			continue
		}
		if last < 0 || len(l.chunks[last]) >= chunkSize {
			l.chunks = append(l.chunks, nil)
			last++
		}
		n := min(len(fresh), chunkSize-len(l.chunks[last]))
		if len(l.chunks) > 1 || n > 1 {
			l.chunks[last] = slices.Grow(l.chunks[last], n)
		}
		l.chunks[last] = append(l.chunks[last], fresh[:n]...)
		l.n += n
		fresh = fresh[n:]
	}
}

// insert adds a subscription before the last one.
func (l *subs) insert(p sub) {
	i := l.chunkOf(p.id)
	if c := l.chunks[i]; len(c) >= chunkSize {
		half := len(c) / 2
		l.chunks = slices.Insert(l.chunks, i+1, slices.Clone(c[half:]))
		clear(c[half:])
		l.chunks[i] = c[:half]
		if c[half-1].id < p.id {
			i++
		}
	}
	l.chunks[i] = slices.Insert(l.chunks[i], indexIn(l.chunks[i], p.id), p)
	l.n++
}

// all yields the subscriptions. They must not be added to or removed from meanwhile.
func (l *subs) all() iter.Seq[*sub] { return l.from(0) }

// from yields the subscriptions with ids that are not lower.
func (l *subs) from(id uint64) iter.Seq[*sub] {
	return func(yield func(*sub) bool) {
		first := l.chunkOf(id)
		for i := first; i < len(l.chunks); i++ {
			c, j := l.chunks[i], 0
			if i == first {
				j = indexIn(c, id)
			}
			for ; j < len(c); j++ {
				if !yield(&c[j]) {
					return
				}
			}
		}
	}
}

// end marks a subscription as ended.
func (l *subs) end(p *sub) {
	p.flags = 0
	l.ended = append(l.ended, p.id)
}

// compact removes the ended subscriptions: each by itself, or all with one look at everything.
func (l *subs) compact() {
	const looks = 8 // at subscriptions, for the cost of one removal
	if len(l.ended)*looks >= l.n {
		l.rebuild()
	} else {
		for _, id := range l.ended {
			l.remove(id)
		}
	}
	l.ended = nil
}

func (l *subs) rebuild() {
	if len(l.ended) == 0 {
		return
	}
	old := l.chunks
	l.chunks, l.n = nil, 0
	for _, c := range old {
		l.add(slices.DeleteFunc(c, func(p sub) bool { return p.flags == 0 })...)
	}
}

func (l *subs) remove(id uint64) {
	i := l.chunkOf(id)
	if i == len(l.chunks) {
		return
	}
	c := l.chunks[i]
	j := indexIn(c, id)
	if c[j].id != id || c[j].flags != 0 {
		return
	}
	c = slices.Delete(c, j, j+1)
	l.n--
	if len(c) == 0 {
		l.chunks = slices.Delete(l.chunks, i, i+1)
		return
	}
	if i+1 < len(l.chunks) && len(c)+len(l.chunks[i+1]) <= chunkSize/2 {
		c = append(c, l.chunks[i+1]...)
		l.chunks = slices.Delete(l.chunks, i+1, i+2)
	}
	l.chunks[i] = c
}
