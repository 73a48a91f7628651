package memoryads

import "slices"

// letterSotw is [Letter] in the state of the world.
type letterSotw struct {
	sotwState

	explicit bool // a request had names
}

func (m *letterSotw) request(r sotwRequest) {
	if n := r.GetResponseNonce(); n != "" && n != m.t.nonce {
		return // stale: the client will answer the newer response
	}
	if added := m.subscribe(r.GetResourceNames()); len(added) > 0 {
		m.respond(added)
	}
}

// subscribe replaces the names, and returns those that are new. Without names, a
// request asks for everything, unless one on the stream had names.
func (m *letterSotw) subscribe(names []string) (added []string) {
	m.explicit = m.explicit || len(names) > 0
	if !m.explicit {
		names = []string{wildcard}
	}
	now := make(map[string]bool)
	for _, n := range names {
		if now[n] = true; !m.subscribed[n] {
			added = append(added, n)
		}
	}
	m.subscribed = now
	return added
}

func (m *letterSotw) change(names []string) {
	if names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !meant(m.subscribed, n) }); len(names) > 0 {
		m.respond(names)
	}
}

// respond sends the resources with these names, or, of a complete type, all that the
// client subscribed to. It skips names that do not exist, and sends an empty response
// for complete types only.
func (m *letterSotw) respond(names []string) {
	about := slices.DeleteFunc(m.h.sorted(), func(r *Resource) bool {
		return !r.in(names) && (r.Error != nil || !m.h.Complete || !meant(m.subscribed, r.Name))
	})
	if m.h.Complete || len(about) > 0 {
		m.p.send(m.h, m.t, m.h.state(), about)
	}
}
