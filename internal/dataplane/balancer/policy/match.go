package policy

import "github.com/xdsforge/xdsforge/internal/dataplane/lbtree"

// keyed is an endpoint of a policy. The set of its addresses is its key.
type keyed interface {
	comparable
	key() string
}

// A matching assigns the endpoints of a policy to those of a new target.
type matching[E keyed] struct {
	endpoints []E   // of the policy, for each endpoint of the target; nil: a new one
	changed   []int // the indexes of endpoints of the target that the last one did not have at their place
	gone      []E   // not in the target
}

// match assigns existing endpoints, which belong to the last target, to those of the next one. Most updates change few
// endpoints. So match needs a map only for those between the first and the last one that was added or removed. It does
// not read unchanged endpoints outside of this range (ADR 309).
func match[E keyed](existing []E, last, next []*lbtree.Endpoint) (m matching[E]) {
	var none E
	m.endpoints = make([]E, len(next))
	same := func(i, j int) bool { return last[i] == next[j] || last[i].Key() == next[j].Key() }
	keep := func(i, j int) {
		m.endpoints[j] = existing[i]
		if last[i] != next[j] {
			m.changed = append(m.changed, j)
		}
	}
	start, end, rest := 0, len(next), len(last)
	for ; start < min(end, rest) && same(start, start); start++ {
		keep(start, start)
	}
	for ; end > start && rest > start && same(rest-1, end-1); end, rest = end-1, rest-1 {
		keep(rest-1, end-1)
	}
	left := make(map[string]E, rest-start)
	for _, e := range existing[start:rest] {
		if left[e.key()] != none {
			m.gone = append(m.gone, e) // an endpoint was there twice
			continue
		}
		left[e.key()] = e
	}
	for i := start; i < end; i++ {
		key := next[i].Key()
		m.endpoints[i], m.changed = left[key], append(m.changed, i)
		delete(left, key)
	}
	for _, e := range left {
		m.gone = append(m.gone, e)
	}
	return m
}

// indexes returns the numbers below n.
func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
