package memoryads

import (
	"maps"
	"slices"
)

// diderotDelta is [Diderot] in the delta protocol.
type diderotDelta struct {
	deltaState
}

// request sends every name that is subscribed to, again or not, or says that it does
// not exist. It takes no notice of initial_resource_versions.
func (m *diderotDelta) request(r deltaRequest, first bool) {
	notices := make(map[string]*Resource)
	subscribe := r.GetResourceNamesSubscribe()
	if first && len(subscribe) == 0 {
		subscribe = []string{wildcard}
	}
	for _, n := range subscribe {
		m.subscribed[n] = true
		m.p.stream.server.record.explicit[key(m.h.URL, n)] = true
		notify(m.h, n, notices)
	}
	for _, n := range r.GetResourceNamesUnsubscribe() {
		delete(m.subscribed, n)
	}
	m.respond(notices)
}

func (m *diderotDelta) change(names []string) {
	notices := make(map[string]*Resource)
	for _, n := range names {
		if meant(m.subscribed, n) {
			notices[n] = m.h.resources[n]
		}
	}
	m.respond(notices)
}

// respond sends a response without a system version.
func (m *diderotDelta) respond(notices map[string]*Resource) {
	if len(notices) == 0 {
		return
	}
	var about []*Resource
	var removed []string
	for _, n := range slices.Sorted(maps.Keys(notices)) {
		if res := notices[n]; res != nil {
			about = append(about, res)
		} else {
			removed = append(removed, n)
		}
	}
	m.p.send(m.h, m.t, "", about, removed)
}
