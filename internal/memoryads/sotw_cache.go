package memoryads

import "maps"

// cacheSotw is go-control-plane's server with one of its caches in the state of the
// world. A response uses up the watch that the last request has opened; until the next
// request, nothing more is sent.
type cacheSotw struct {
	sotwState
	linear bool

	legacy   bool              // no request had names
	returned map[string]string // versions that were sent and are still subscribed to
	nonce    string            // of the response since the last request that was heeded
	open     sotwRequest       // waits for a change; nil when it was answered
}

func (m *cacheSotw) request(r sotwRequest) {
	if m.nonce != "" && r.GetResponseNonce() != m.nonce {
		return
	}
	m.nonce, m.open = "", r
	m.subscribe(r.GetResourceNames())
	m.answer(m.linear && r.GetVersionInfo() == "")
}

func (m *cacheSotw) subscribe(names []string) {
	m.legacy = m.legacy && len(names) == 0
	m.subscribed = make(map[string]bool)
	for _, n := range names {
		m.subscribed[n] = true
	}
	if m.legacy {
		m.subscribed[wildcard] = true
	}
	maps.DeleteFunc(m.returned, func(name, _ string) bool { return !m.wants(name) })
}

func (m *cacheSotw) wants(name string) bool { return cacheMeant(m.subscribed, m.linear, name) }

// cacheMeant is meant as go-control-plane has it: only linear caches know globs.
func cacheMeant(subscribed map[string]bool, linear bool, name string) bool {
	return subscribed[name] || subscribed[wildcard] || linear && covered(subscribed, name)
}

func (m *cacheSotw) change(names []string) {
	if m.open == nil {
		return
	}
	affected := !m.linear
	for _, n := range names {
		affected = affected || m.wants(n)
	}
	if affected {
		m.answer(false)
	}
}

// answer sends a response if there is something to say in it, or if it must be sent
// even so.
func (m *cacheSotw) answer(always bool) {
	changed, removed := m.changes()
	behind := !m.linear && m.open.GetVersionInfo() != m.h.state()
	switch {
	case !m.linear && m.h.version == 0:
		return // there is no snapshot yet
	case behind || always:
	case len(changed) == 0 && (!m.h.Complete || !removed):
		return
	}
	about := kept(m.h.valid(), func(name string) bool { return m.wants(name) && (m.h.Complete || behind || changed[name]) })
	for _, res := range about {
		m.returned[res.Name] = res.version
	}
	maps.DeleteFunc(m.returned, func(name, _ string) bool { return m.h.resources[name] == nil })
	m.open, m.nonce = nil, m.p.send(m.h, m.t, m.h.state(), about)
}

// changes compares the resources that are subscribed to with those that were sent. A
// snapshot cache looks at names only.
func (m *cacheSotw) changes() (changed map[string]bool, removed bool) {
	changed = make(map[string]bool)
	for _, res := range m.h.valid() {
		version, known := m.returned[res.Name]
		if m.wants(res.Name) && (!known || m.linear && version != res.version) {
			changed[res.Name] = true
		}
	}
	for name := range m.returned {
		removed = removed || m.h.resources[name] == nil
	}
	return changed, removed
}
