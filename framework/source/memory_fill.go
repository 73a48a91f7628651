package source

import (
	"maps"
	"slices"
)

// fillPart is the number of resources of a new interest that a change reports at most. Otherwise, somebody who
// subscribes to all resources would keep the changes for others waiting.
const fillPart = 1000

// A fill is a new interest in many resources, which several changes report. All changes that a commit makes meanwhile
// are reported at once, as always.
type fill struct {
	interest Interest
	keys     []Key // not reported yet
	sorted   bool
}

// many returns the keys of all resources of an interest if these are many, and nil otherwise.
func (m *Memory) many(i Interest) (keys []Key) {
	t := m.types[i.Type]
	if t == nil {
		return nil
	}
	members := t.collections[i.Name]
	if i.Name == Everything {
		members = t.held
	}
	if len(members) <= fillPart {
		return nil
	}
	keys = make([]Key, 0, len(members))
	for name := range maps.Keys(members) {
		keys = append(keys, Key{i.Type, name})
	}
	return keys
}

// dropFill ends the fill of an interest.
func (s *memorySession) dropFill(i Interest) {
	s.fills = slices.DeleteFunc(s.fills, func(f *fill) bool { return f.interest == i })
}

// sortFill sorts the keys of the first fill, without the lock of the memory.
func (s *memorySession) sortFill() {
	s.memory.mu.Lock()
	var f *fill
	if len(s.fills) > 0 {
		f = s.fills[0]
	}
	s.memory.mu.Unlock()
	if f != nil && !f.sorted {
		slices.SortFunc(f.keys, compareKeys) // only this goroutine uses them
		f.sorted = true
	}
}

// takeFill moves a part of the first fill to what is to be reported.
func (s *memorySession) takeFill() {
	if len(s.fills) == 0 {
		return
	}
	f := s.fills[0]
	n := min(fillPart, len(f.keys))
	for _, k := range f.keys[:n] {
		if h := s.memory.types[k.Type].held[k.Name]; h != nil { // otherwise, its end was noted
			first(s.pending, h)
		}
	}
	if f.keys = f.keys[n:]; len(f.keys) == 0 {
		s.complete = append(s.complete, f.interest)
		s.fills = slices.Delete(s.fills, 0, 1)
	}
}
