package memoryads

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// delta is the incremental variant.
type delta struct {
	stream *stream
	types  map[string]*deltaType
}

// A deltaType is what a stream knows of a type.
type deltaType struct {
	subscribed map[string]bool     // names, aliases and globs; "*" for everything
	has        map[string]string   // by name: the version that the client has
	open       []string            // nonces that wait for their answer
	received   map[string]bool     // of those, the ones that the client took
	removed    map[string][]string // by nonce: the removals in the response; it has all that were sent
}

// read implements protocol.
func (p *delta) read(raw []byte) {
	r := new(discoveryv3.DeltaDiscoveryRequest)
	if err := proto.Unmarshal(raw, r); err != nil {
		p.stream.violation("not a DeltaDiscoveryRequest: %v", err)
		return
	}
	p.stream.begin(r, r.GetNode())
	h, ok := p.stream.server.held[r.GetTypeUrl()]
	if !ok {
		return // of a type that is not served: there is nothing to say
	}
	t, known := p.types[h.URL]
	p.check(h, t, r)
	if !known {
		t = &deltaType{
			subscribed: make(map[string]bool), received: make(map[string]bool), removed: make(map[string][]string),
			has: maps.Clone(r.GetInitialResourceVersions()),
		}
		if t.has == nil {
			t.has = make(map[string]string)
		}
		p.types[h.URL] = t
	}
	for _, name := range t.removed[r.GetResponseNonce()] {
		if _, sentAgain := t.has[name]; !sentAgain {
			p.stream.server.record.gone[key(h.URL, name)] = true
		}
	}
	t.open = slices.DeleteFunc(t.open, func(n string) bool { return n == r.GetResponseNonce() })
	subscribe := r.GetResourceNamesSubscribe()
	if !known && len(subscribe) == 0 && len(r.GetResourceNamesUnsubscribe()) == 0 {
		subscribe = []string{wildcard} // the old way to ask for everything
	}
	p.subscribe(h, t, subscribe, r.GetResourceNamesUnsubscribe(), !known)
}

// subscribe changes what is subscribed to, and answers. A name that is subscribed
// to (again) is sent even if it did not change, unless the client has just said
// that it has that version.
func (p *delta) subscribe(h *holdings, t *deltaType, subscribe, unsubscribe []string, first bool) {
	for _, n := range subscribe {
		t.subscribed[n] = true
		p.stream.server.record.explicit[key(h.URL, n)] = true
	}
	again := slices.Clone(subscribe)
	for _, n := range unsubscribe {
		delete(t.subscribed, n)
		if covered(t.subscribed, n) {
			again = append(again, n) // it stays subscribed to: the client is told what it is
			continue
		}
		for name := range t.has {
			if !t.wants(h, name) {
				delete(t.has, name)
			}
		}
	}
	a := answer{t: t, h: h, r: &discoveryv3.DeltaDiscoveryResponse{TypeUrl: h.URL}}
	for _, n := range again {
		a.name(n, first, p.stream.server.faults.omitRemovals)
	}
	if first && !p.stream.server.faults.omitRemovals {
		for _, name := range slices.Sorted(maps.Keys(t.has)) {
			if r := h.resources[name]; r == nil || r.Error != nil {
				a.remove(name)
			}
		}
	}
	p.send(h, t, a.r)
}

// wants reports whether a resource, by its name, is subscribed to.
func (t *deltaType) wants(h *holdings, name string) bool {
	if t.subscribed[name] || covered(t.subscribed, name) {
		return true
	}
	r, ok := h.resources[name]
	return ok && slices.ContainsFunc(r.Aliases, func(alias string) bool { return t.subscribed[alias] })
}

// names implements protocol.
func (p *delta) names() (names []string) {
	for _, t := range p.types {
		names = slices.AppendSeq(names, maps.Keys(t.subscribed))
	}
	return names
}

// change implements protocol.
func (p *delta) change(h *holdings, names []string) {
	t, ok := p.types[h.URL]
	if !ok {
		return
	}
	a := answer{t: t, h: h, r: &discoveryv3.DeltaDiscoveryResponse{TypeUrl: h.URL}}
	for _, n := range names {
		_, has := t.has[n]
		switch r, exists := h.resources[n]; {
		case exists && t.wants(h, n):
			a.add(r)
		case !exists && (has || t.subscribed[n]):
			a.remove(n)
		}
	}
	p.send(h, t, a.r)
}

// heartbeat implements protocol.
func (p *delta) heartbeat(h *holdings, names []string) {
	t, ok := p.types[h.URL]
	if !ok {
		return
	}
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: h.URL}
	for _, n := range names {
		if res, ok := h.resources[n]; ok && t.wants(h, n) {
			r.Resources = append(r.Resources, res.wrapper(h.URL, false))
		}
	}
	p.send(h, t, r)
}

// send sends a response that says something.
func (p *delta) send(h *holdings, t *deltaType, r *discoveryv3.DeltaDiscoveryResponse) {
	if p.stream.silent() || len(r.GetResources())+len(r.GetRemovedResources())+len(r.GetResourceErrors()) == 0 {
		return
	}
	s := p.stream.server
	for _, res := range r.GetResources() {
		s.record.sent[key(h.URL, res.GetName()+" "+res.GetVersion())] = true
		delete(s.record.gone, key(h.URL, res.GetName()))
		if !t.subscribed[res.GetName()] {
			s.record.learned[key(h.URL, res.GetName())] = true
		}
	}
	nonce := s.nonce()
	r.Nonce, r.SystemVersionInfo = nonce, h.state()
	t.open = append(t.open, nonce)
	t.removed[nonce] = r.GetRemovedResources()
	p.stream.respond(r, func() { t.received[nonce] = true })
}

// An answer is a response in the making.
type answer struct {
	t *deltaType
	h *holdings
	r *discoveryv3.DeltaDiscoveryResponse
}

// name adds what a name means. Of what the client has already, nothing is added
// in answer to the first request.
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
	same := func(other *discoveryv3.Resource) bool { return other.GetName() == r.Name }
	switch {
	case r.Error != nil:
		delete(a.t.has, r.Name)
		a.r.ResourceErrors = append(a.r.ResourceErrors, &discoveryv3.ResourceError{
			ResourceName: &discoveryv3.ResourceName{Name: r.Name}, ErrorDetail: r.Error,
		})
	case !slices.ContainsFunc(a.r.Resources, same):
		a.t.has[r.Name] = r.version
		a.r.Resources = append(a.r.Resources, r.wrapper(a.h.URL, true))
	}
}

func (a *answer) remove(name string) {
	delete(a.t.has, name)
	if !slices.Contains(a.r.RemovedResources, name) {
		a.r.RemovedResources = append(a.r.RemovedResources, name)
	}
}
