package convert

import "hash/maphash"

// few is the number of keys that a [Set] holds without allocating.
const few = 128

// Set detects repeated values. The zero value is ready. Sets of up to 128 keys are stored in the
// Set itself, on the stack of a decoder. Larger ones use a map.
type Set[K comparable] struct {
	n     int
	seed  maphash.Seed
	keys  [few]K
	slots [2 * few]uint8 // 1 + index into keys, by hash
	many  map[K]struct{}
}

// Before reports whether k was passed before, and records it.
func (s *Set[K]) Before(k K) bool {
	if s.many != nil {
		_, ok := s.many[k]
		s.many[k] = struct{}{}
		return ok
	}
	if s.n == 0 {
		s.seed = maphash.MakeSeed()
	}
	slot := hash(s.seed, k) % (2 * few)
	for ; s.slots[slot] != 0; slot = (slot + 1) % (2 * few) {
		if s.keys[s.slots[slot]-1] == k {
			return true
		}
	}
	if s.n == few {
		s.spill(k)
		return false
	}
	s.keys[s.n] = k
	s.n++
	s.slots[slot] = uint8(s.n) //nolint:gosec // at most few
	return false
}

// hash is [maphash.Comparable], but faster for strings.
func hash[K comparable](seed maphash.Seed, k K) uint64 {
	if text, ok := any(k).(string); ok {
		return maphash.String(seed, text)
	}
	return maphash.Comparable(seed, k)
}

func (s *Set[K]) spill(k K) {
	s.many = make(map[K]struct{}, 4*few)
	for _, old := range s.keys {
		s.many[old] = struct{}{}
	}
	s.many[k] = struct{}{}
}

// fewGroups is the number of groups that a [Sums] holds without allocating.
const fewGroups = 16

// Sums adds up numbers by group. The zero value is ready.
type Sums[K comparable] struct {
	n      int
	groups [fewGroups]K
	sums   [fewGroups]uint64
	many   map[K]uint64
}

// Add adds to the sum of a group and returns the new sum.
func (s *Sums[K]) Add(group K, number uint32) uint64 {
	for i := range s.n {
		if s.groups[i] == group {
			s.sums[i] += uint64(number)
			return s.sums[i]
		}
	}
	if s.n < fewGroups {
		s.groups[s.n], s.sums[s.n] = group, uint64(number)
		s.n++
		return uint64(number)
	}
	if s.many == nil {
		s.many = make(map[K]uint64)
	}
	s.many[group] += uint64(number)
	return s.many[group]
}
