package memoryads

import (
	"maps"
	"slices"
)

// letterDelta is [Letter] in the delta protocol.
type letterDelta struct {
	deltaState
}

// request changes the subscriptions and answers. A name that is subscribed to
// (again) is sent even if it did not change, unless the client has just said
// that it has that version.
func (m *letterDelta) request(r deltaRequest, first bool) {
	again := m.subscribe(r, first)
	omits := m.p.stream.server.faults.omitRemovals
	a := &answer{letterDelta: m}
	for _, n := range again {
		a.name(n, first, omits)
	}
	if first && !omits {
		for _, name := range slices.Sorted(maps.Keys(m.t.has)) {
			if r := m.h.resources[name]; r == nil || r.Error != nil {
				a.remove(name)
			}
		}
	}
	m.send(a)
}

// subscribe changes the subscriptions, and returns the names whose state the client must get.
func (m *letterDelta) subscribe(r deltaRequest, first bool) (again []string) {
	subscribe := subscriptions(r, first)
	for _, n := range subscribe {
		m.subscribed[n] = true
		m.p.stream.server.record.explicit[key(m.h.URL, n)] = true
	}
	again = slices.Clone(subscribe)
	for _, n := range r.GetResourceNamesUnsubscribe() {
		delete(m.subscribed, n)
		if covered(m.subscribed, n) {
			again = append(again, n) // still subscribed to through a collection: the client gets its state
			continue
		}
		for name := range m.t.has {
			if !meantResource(m.subscribed, m.h, name) {
				delete(m.t.has, name)
			}
		}
	}
	return again
}

// subscriptions are the names that a request subscribes to. Without any, the first
// request of a type asks for everything.
func subscriptions(r deltaRequest, first bool) []string {
	names := r.GetResourceNamesSubscribe()
	if first && len(names)+len(r.GetResourceNamesUnsubscribe()) == 0 {
		return []string{wildcard}
	}
	return names
}

func (m *letterDelta) change(names []string) {
	a := &answer{letterDelta: m}
	for _, n := range names {
		_, has := m.t.has[n]
		switch r, exists := m.h.resources[n]; {
		case exists && meantResource(m.subscribed, m.h, n):
			a.add(r)
		case !exists && (has || m.subscribed[n]):
			a.remove(n)
		}
	}
	m.send(a)
}

func (m *letterDelta) send(a *answer) {
	if len(a.about)+len(a.removed) > 0 {
		m.p.send(m.h, m.t, m.h.state(), a.about, a.removed)
	}
}

// An answer is a response in the making.
type answer struct {
	*letterDelta
	about   []*Resource
	removed []string
}

// name adds the resources that a name means. In the answer to the first request, it skips
// the resources that the client has already.
func (a *answer) name(name string, first, omitRemovals bool) {
	found := a.h.find(name)
	for _, r := range found {
		if v, has := a.t.has[r.Name]; first && has && v == r.version {
			continue
		}
		a.add(r)
	}
	_, has := a.t.has[name]
	if len(found) == 0 && name != wildcard && (!omitRemovals || has && !first) {
		a.remove(name) // of a glob, too: that is an empty collection (xRFC TP1)
	}
}

func (a *answer) add(r *Resource) {
	if r.Error != nil {
		delete(a.t.has, r.Name)
	}
	if !slices.Contains(a.about, r) {
		a.about = append(a.about, r)
	}
}

func (a *answer) remove(name string) {
	if !slices.Contains(a.removed, name) {
		a.removed = append(a.removed, name)
	}
}
