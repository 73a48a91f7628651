package authority

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Want reports whether a resource of a response is watched.
type Want uint8

const (
	// Unwanted resources are neither watched nor members of a watched collection. Events about them
	// have no effect.
	Unwanted Want = iota
	// Wanted resources are watched by their name or an alias, or are members of a watched
	// collection.
	Wanted
	// Excessive resources would be members of a collection that is at its limit.
	Excessive
)

// Wants reports whether a resource of a type is wanted. The response is any number that
// distinguishes the responses in progress: the new members in one response count together.
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

// Generation returns a number that grows when the machine begins to want another resource of a
// type.
func (m *Machine) Generation(typ *resource.Descriptor) uint64 { return m.table(typ).generation }
