package authority

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Want tells whether a resource of a response is watched.
type Want uint8

const (
	// Unwanted resources are neither watched nor members of a collection that is. Events
	// about them have no effect.
	Unwanted Want = iota
	// Wanted resources are watched by their name or an alias, or are members of a
	// collection that is watched.
	Wanted
	// Excessive resources would be members of a collection that has as many as it may.
	Excessive
)

// Wants answers for a resource of a type. The response is any number that tells apart the
// responses that are looked at: the new members of one count together.
func (m *Machine) Wants(typ *resource.Descriptor, name xdstp.Name, aliases []xdstp.Name, response uint64) Want {
	t := m.table(typ)
	key := name.String()
	if _, ok := t.records[key]; ok || len(t.aliased[key]) > 0 {
		return Wanted
	}
	if slices.ContainsFunc(aliases, func(a xdstp.Name) bool { _, ok := t.records[a.String()]; return ok }) {
		return Wanted
	}
	c, ok := t.collection(name)
	if !ok {
		return Unwanted
	}
	x := c.own()
	if x.response != response {
		x.response, x.promised = response, 0
	}
	if len(x.members)+x.promised >= m.config.MaxMembers {
		return Excessive
	}
	x.promised++
	return Wanted
}

// Generation grows when the machine begins to want a resource of a type that it did not
// want before.
func (m *Machine) Generation(typ *resource.Descriptor) uint64 { return m.table(typ).generation }
