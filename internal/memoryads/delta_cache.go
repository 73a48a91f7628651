package memoryads

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
)

// cacheDelta is go-control-plane's server with one of its caches in the delta protocol.
// As in the state of the world, a response uses up the watch of the last request, which
// may be an ACK or a NACK of any response.
type cacheDelta struct {
	deltaState
	linear bool

	legacy   bool              // no request had names: the wildcard cannot be ended
	returned map[string]string // versions that the client said it has, or that were sent
	open     bool              // the last request waits for a change
}

func (m *cacheDelta) request(r deltaRequest, first bool) {
	if first {
		maps.Copy(m.returned, r.GetInitialResourceVersions())
		if len(r.GetResourceNamesSubscribe()) == 0 {
			m.subscribed[wildcard] = true
		}
	}
	m.subscribe(r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe())
	m.open = true
	m.answer(m.subscribed[wildcard] && r.GetResponseNonce() == "")
}

func (m *cacheDelta) subscribe(subscribe, unsubscribe []string) {
	if m.legacy = m.legacy && len(subscribe) == 0; m.legacy {
		return
	}
	for _, n := range subscribe {
		m.subscribed[n] = true
		m.p.stream.server.record.explicit[key(m.h.URL, n)] = true
	}
	for _, n := range unsubscribe {
		if m.subscribed[n] && n != wildcard && m.subscribed[wildcard] {
			m.returned[n] = "" // it is sent again as a member of the wildcard
		} else {
			delete(m.returned, n)
		}
		delete(m.subscribed, n)
	}
}

func (m *cacheDelta) wants(name string) bool { return cacheMeant(m.subscribed, m.linear, name) }

func (m *cacheDelta) change(names []string) {
	affected := !m.linear
	for _, n := range names {
		affected = affected || m.wants(n)
	}
	if m.open && affected {
		m.answer(false)
	}
}

// answer sends the difference between the subscribed resources and those sent before. If
// there is none, it sends a response only if always is set.
func (m *cacheDelta) answer(always bool) {
	if !m.linear && m.h.version == 0 {
		return // there is no snapshot yet
	}
	var changed []*Resource
	var removed []string
	for _, res := range kept(m.h.valid(), m.wants) {
		now := *res
		now.version = digest(res)
		if version, known := m.returned[res.Name]; !known || version != now.version {
			changed = append(changed, &now)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(m.returned)) {
		if m.h.resources[n] == nil || !m.wants(n) {
			removed = append(removed, n)
		}
	}
	if len(changed)+len(removed) == 0 && !always {
		return
	}
	for _, res := range changed {
		m.returned[res.Name] = res.version
	}
	for _, n := range removed {
		delete(m.returned, n)
	}
	m.open = false
	m.p.send(m.h, m.t, m.h.state(), changed, removed)
}

// digest is a version of the content alone.
func digest(r *Resource) string {
	d := fnv.New64a()
	_, _ = d.Write(r.Body)
	return strconv.FormatUint(d.Sum64(), 16)
}
