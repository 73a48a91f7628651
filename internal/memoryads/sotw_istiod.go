package memoryads

// istiodSotw is [Istiod] in the state of the world.
type istiodSotw struct {
	sotwState // of a type with a wildcard, no name means everything

	watched bool   // it has a record of the type
	nonce   string // sent last since that record was made
}

func (m *istiodSotw) request(r sotwRequest) {
	names := make(map[string]bool)
	for _, n := range r.GetResourceNames() {
		names[n] = true
	}
	switch {
	case r.GetErrorDetail() != nil:
		return // the names in it are lost
	case len(names) == 0 && !m.h.Wildcard:
		m.watched, m.subscribed = false, nil
		return
	case r.GetResponseNonce() == "" || !m.watched:
		m.watched, m.subscribed, m.nonce = true, names, ""
		m.push()
		return
	case r.GetResponseNonce() != m.nonce:
		return // the names in it are lost
	}
	added, removed := missing(names, m.subscribed), missing(m.subscribed, names)
	m.subscribed = names
	if added || removed && m.h.Complete {
		m.push()
	}
}

func (m *istiodSotw) wants(name string) bool {
	return meant(m.subscribed, name) || len(m.subscribed) == 0 && covers(wildcard, name)
}

// missing reports whether one set has names that the other has not.
func missing(from, in map[string]bool) bool {
	for n := range from {
		if !in[n] {
			return true
		}
	}
	return false
}

// change pushes all resources of a complete type, whether or not the client asked for
// one that changed.
func (m *istiodSotw) change(names []string) {
	affected := m.h.Complete
	for _, n := range names {
		affected = affected || m.wants(n)
	}
	if m.watched && affected {
		m.push()
	}
}

// push sends everything that is subscribed to, even if that is nothing.
func (m *istiodSotw) push() {
	m.nonce = m.p.send(m.h, m.t, m.h.state(), kept(m.h.valid(), m.wants))
}
