package resource

import (
	"hash/maphash"
	"iter"
	"slices"
)

// metaRefs are the resources to which a resource refers. Most resources refer to none or one.
type metaRefs struct {
	first Ref
	more  *moreRefs // nil without further refs
}

// moreRefs are the refs after the first one, without duplicates.
type moreRefs struct {
	list []Ref
	// index has the positions in a long list, plus one, by the hash of the ref. It is at most half full.
	// It takes a tenth of the memory of a map.
	index []int32
	seed  maphash.Seed
}

// Refs yields the resources to which this one refers.
func (m *Meta) Refs() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		if m == nil || m.refs == nil || !yield(m.refs.first) || m.refs.more == nil {
			return
		}
		slices.Values(m.refs.more.list)(yield)
	}
}

// fewRefs is the number of refs up to which addRef scans instead of using an index. Most updates have
// fewer. A control plane may send many.
const fewRefs = 32

// addRef records r unless it is known.
func (m *Meta) addRef(r Ref) {
	switch {
	case m.refs == nil:
		m.refs = &metaRefs{first: r}
	case m.refs.first == r:
	case m.refs.more == nil:
		m.refs.more = &moreRefs{list: []Ref{r}}
	default:
		m.refs.more.add(r)
	}
}

func (m *moreRefs) add(r Ref) {
	if len(m.list) < fewRefs {
		if !slices.Contains(m.list, r) {
			m.list = append(m.list, r)
		}
		return
	}
	if 2*len(m.list) >= len(m.index) {
		m.grow()
	}
	if slot := m.slot(r); *slot == 0 {
		m.list = append(m.list, r)
		*slot = int32(len(m.list)) //nolint:gosec // the limits of a resource allow fewer
	}
}

// grow doubles the index.
func (m *moreRefs) grow() {
	if m.index == nil {
		m.seed = maphash.MakeSeed() // a control plane must not choose names with equal hashes
	}
	m.index = make([]int32, max(2*len(m.index), 4*fewRefs))
	for i, r := range m.list {
		*m.slot(r) = int32(i + 1)
	}
}

// slot returns the place of r in the index, which is 0 if r is not in the list.
func (m *moreRefs) slot(r Ref) *int32 {
	mask := uint64(len(m.index) - 1) //nolint:gosec // the length is a power of two
	for i := maphash.String(m.seed, r.Name.String()) & mask; ; i = (i + 1) & mask {
		slot := &m.index[i]
		if *slot == 0 || m.list[*slot-1] == r {
			return slot
		}
	}
}
