package memoryads

import (
	"maps"
	"slices"
	"strings"
)

// diderotSotw is [Diderot] in the state of the world.
type diderotSotw struct {
	sotwState

	explicit bool                 // a request had names
	sent     map[string]*Resource // complete types: all that later responses repeat
}

// request reads only the names: it ignores the nonce and whether it is a NACK.
func (m *diderotSotw) request(r sotwRequest) {
	names := r.GetResourceNames()
	m.explicit = m.explicit || len(names) > 0
	if !m.explicit {
		names = []string{wildcard}
	}
	now, notices := make(map[string]bool), make(map[string]*Resource)
	for _, n := range names {
		if now[n] = true; !m.subscribed[n] {
			notify(m.h, n, notices)
		}
	}
	m.subscribed = now
	m.respond(notices)
}

// notify collects the notices for a subscription to a name: the resources that it means,
// or that there is none.
func notify(h *holdings, name string, notices map[string]*Resource) {
	found := h.find(name)
	for _, r := range found {
		notices[r.Name] = r
	}
	if len(found) == 0 && name != wildcard {
		notices[name] = nil
	}
}

func (m *diderotSotw) change(names []string) {
	notices := make(map[string]*Resource)
	for _, n := range names {
		if meant(m.subscribed, n) {
			notices[n] = m.h.resources[n]
		}
	}
	m.respond(notices)
}

func (m *diderotSotw) respond(notices map[string]*Resource) {
	if !m.h.Complete {
		maps.DeleteFunc(notices, func(_ string, r *Resource) bool { return r == nil })
	}
	if len(notices) == 0 {
		return
	}
	from := notices
	if m.h.Complete {
		for n, r := range notices {
			if r == nil {
				delete(m.sent, n)
			} else {
				m.sent[n] = r
			}
		}
		from = m.sent
	}
	var about []*Resource
	var versions []string
	for _, n := range slices.Sorted(maps.Keys(from)) {
		about = append(about, from[n])
		versions = append(versions, n+":"+from[n].version)
	}
	m.p.send(m.h, m.t, strings.Join(versions, " "), about) // without resources, the version is empty
}
