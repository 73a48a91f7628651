package memoryads

import (
	"maps"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

type deltaRequest = *discoveryv3.DeltaDiscoveryRequest

// delta is the incremental variant.
type delta struct {
	stream *stream
	types  map[string]*deltaType
}

// A deltaType is the state of one type on a stream.
type deltaType struct {
	manner   deltaManner
	has      map[string]string    // by name: the version that the client has
	open     []string             // nonces that wait for their answer
	received map[string]time.Time // of those, the ones that the client took, and when
	removed  map[string][]string  // by nonce: the removals in the response; it has all that were sent
	rejected rejections
	asked    *asked
}

// read implements protocol.
func (p *delta) read(raw []byte) (decoded bool) {
	r := new(discoveryv3.DeltaDiscoveryRequest)
	if err := proto.Unmarshal(raw, r); err != nil {
		p.stream.violation("not a DeltaDiscoveryRequest: %v", err)
		return false
	}
	p.stream.begin(r, r.GetNode())
	h, ok := p.stream.server.held[r.GetTypeUrl()]
	if !ok {
		return true // of a type that is not served: there is nothing to say
	}
	t, known := p.types[h.URL]
	p.check(h, t, r)
	if !known {
		t = &deltaType{
			received: make(map[string]time.Time), removed: make(map[string][]string),
			has: maps.Clone(r.GetInitialResourceVersions()), asked: newAsked(),
		}
		if t.has == nil {
			t.has = make(map[string]string)
		}
		p.stream.asked[h.URL] = t.asked
		t.manner = newDeltaManner(p, h, t)
		p.types[h.URL] = t
	}
	p.checkNames(h, t, r, !known)
	for _, name := range t.removed[r.GetResponseNonce()] {
		if _, sentAgain := t.has[name]; !sentAgain {
			p.stream.server.record.gone[key(h.URL, name)] = true
		}
	}
	t.open = slices.DeleteFunc(t.open, func(n string) bool { return n == r.GetResponseNonce() })
	t.manner.request(r, !known)
	return true
}

// names implements protocol.
func (p *delta) names() (names []string) {
	for _, t := range p.types {
		names = slices.AppendSeq(names, maps.Keys(t.manner.names()))
	}
	return names
}

// change implements protocol.
func (p *delta) change(h *holdings, names []string) {
	if t, ok := p.types[h.URL]; ok {
		t.manner.change(names)
	}
}

// heartbeat implements protocol.
func (p *delta) heartbeat(h *holdings, names []string) {
	t, ok := p.types[h.URL]
	if !ok {
		return
	}
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: h.URL, SystemVersionInfo: h.state()}
	var beating []string
	for _, n := range names {
		if res, ok := h.resources[n]; ok && meantResource(t.manner.names(), h, n) {
			r.Resources, beating = append(r.Resources, res.wrapper(h.URL, false)), append(beating, n)
		}
	}
	if len(beating) > 0 {
		p.post(h, t, r, nil, beating)
	}
}

// meantResource reports whether a resource, by its name, is subscribed to, be it
// under an alias.
func meantResource(subscribed map[string]bool, h *holdings, name string) bool {
	if meant(subscribed, name) {
		return true
	}
	r, ok := h.resources[name]
	return ok && slices.ContainsFunc(r.Aliases, func(alias string) bool { return subscribed[alias] })
}

// send sends resources, errors and removals, also none, and returns the nonce of the response.
func (p *delta) send(h *holdings, t *deltaType, version string, about []*Resource, removed []string) (nonce string) {
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: h.URL, SystemVersionInfo: version, RemovedResources: removed}
	for _, res := range about {
		if res.Error != nil {
			r.ResourceErrors = append(r.ResourceErrors, res.trouble())
		} else {
			r.Resources = append(r.Resources, res.wrapper(h.URL, true))
		}
	}
	return p.post(h, t, r, about, removed)
}

// post sends a response that speaks of resources and of other names, and returns its nonce.
func (p *delta) post(h *holdings, t *deltaType, r *discoveryv3.DeltaDiscoveryResponse, about []*Resource, others []string) (nonce string) {
	if p.stream.silent() {
		return ""
	}
	r.Nonce = p.stream.server.nonce()
	p.stream.respond(r, p.note(h, t, r, about, others))
	return r.GetNonce()
}

// note records a response, and returns a function that records that the client has received it.
func (p *delta) note(h *holdings, t *deltaType, r *discoveryv3.DeltaDiscoveryResponse, about []*Resource, others []string) (received func()) {
	s, nonce := p.stream.server, r.GetNonce()
	subscribed := t.manner.names()
	for _, res := range r.GetResources() {
		s.record.sent[key(h.URL, res.GetName()+" "+res.GetVersion())] = true
		delete(s.record.gone, key(h.URL, res.GetName()))
		if !subscribed[res.GetName()] {
			s.record.learned[key(h.URL, res.GetName())] = true
		}
		t.has[res.GetName()] = res.GetVersion()
	}
	for _, name := range r.GetRemovedResources() {
		delete(t.has, name)
	}
	t.open = append(t.open, nonce)
	t.removed[nonce] = r.GetRemovedResources()
	t.rejected.sent(nonce, &discoveryv3.DeltaDiscoveryResponse{Resources: r.GetResources()})
	return func() {
		t.received[nonce] = time.Now()
		has, errors := called(about)
		t.asked.answer(has, append(errors, others...), true)
	}
}
