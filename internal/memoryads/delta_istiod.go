package memoryads

import (
	"maps"
	"slices"
)

// istiodDelta is [Istiod] in the delta protocol.
type istiodDelta struct {
	deltaState // subscribed has the members that a wildcard has brought, too

	nonce string // sent last
}

func (m *istiodDelta) request(r deltaRequest, first bool) {
	switch {
	case r.GetErrorDetail() != nil:
		return // the names in it are lost
	case r.GetResponseNonce() != "" && r.GetResponseNonce() != m.nonce:
		return // the names in it are lost
	}
	subscribe, changed := subscriptions(r, first), false
	for _, n := range slices.Concat(subscribe, slices.Sorted(maps.Keys(r.GetInitialResourceVersions()))) {
		changed = changed || !m.subscribed[n]
		m.subscribed[n] = true
		m.p.stream.server.record.explicit[key(m.h.URL, n)] = true
	}
	for _, n := range r.GetResourceNamesUnsubscribe() {
		changed = changed || m.subscribed[n]
		delete(m.subscribed, n)
	}
	switch {
	case first:
		m.push(slices.Sorted(maps.Keys(m.subscribed)))
	case changed && (len(subscribe) > 0 || m.h.Complete):
		m.push(subscribe) // of a complete type, an empty response says so when names were dropped
	}
}

// change pushes all resources of a complete type, and of others those that changed.
func (m *istiodDelta) change(names []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !meant(m.subscribed, n) })
	switch {
	case m.h.Complete && len(m.subscribed) > 0:
		m.push(slices.Sorted(maps.Keys(m.subscribed)))
	case len(names) > 0:
		m.push(names)
	}
}

// push sends the resources that the names mean, even if there are none, and the names
// that mean none as removed. The members of a wildcard stay subscribed to when it ends.
func (m *istiodDelta) push(names []string) {
	about := slices.DeleteFunc(m.h.valid(), func(res *Resource) bool { return !res.in(names) })
	removed := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return n == wildcard || slices.ContainsFunc(about, func(res *Resource) bool { return res.in([]string{n}) })
	})
	m.nonce = m.p.send(m.h, m.t, m.h.state(), about, removed)
	for _, res := range about {
		m.subscribed[res.Name] = true
	}
}
