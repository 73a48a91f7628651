package memoryads

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
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
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: m.h.URL}
	for _, n := range slices.Sorted(maps.Keys(notices)) {
		if res := notices[n]; res != nil {
			r.Resources = append(r.Resources, res.wrapper(m.h.URL, true))
		} else {
			r.RemovedResources = append(r.RemovedResources, n)
		}
	}
	m.p.send(m.h, m.t, r)
}
