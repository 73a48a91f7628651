package priority

import (
	"slices"
	"strconv"
)

// Names gives names to the priorities of a cluster. Localities that move to another priority keep
// their name, and so their connections (A56, A37). A name is never used again after its localities
// are gone. The best priorities choose first. The zero value is ready for use.
type Names[L comparable] struct {
	last  [][]L    // the localities of each priority
	names []string // the name of each priority
	next  int
}

// Name returns a name for each priority, given its localities.
func (n *Names[L]) Name(priorities [][]L) []string {
	owner := make(map[L]string)
	for i, localities := range n.last {
		for _, l := range localities {
			if _, ok := owner[l]; !ok {
				owner[l] = n.names[i]
			}
		}
	}
	names := make([]string, len(priorities))
	taken := make(map[string]bool)
	for i, localities := range priorities {
		candidates := make([]string, 0, len(localities)+1)
		if i < len(n.last) && overlap(n.last[i], localities) {
			candidates = append(candidates, n.names[i])
		}
		for _, l := range localities {
			if name, ok := owner[l]; ok {
				candidates = append(candidates, name)
			}
		}
		for _, name := range candidates {
			if !taken[name] {
				names[i] = name
				taken[name] = true
				break
			}
		}
		if names[i] == "" {
			names[i] = strconv.Itoa(n.next)
			n.next++
		}
	}
	n.last, n.names = priorities, names
	return names
}

func overlap[L comparable](a, b []L) bool {
	return slices.ContainsFunc(a, func(l L) bool { return slices.Contains(b, l) })
}
