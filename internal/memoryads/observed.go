package memoryads

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// observedSotw knows the subscriptions of a client of another server.
type observedSotw struct{ letterSotw }

func (m *observedSotw) request(r sotwRequest) {
	if n := r.GetResponseNonce(); n == "" || n == m.t.nonce {
		m.subscribe(r.GetResourceNames())
	}
}

func (m *observedSotw) change([]string) {}

// observedDelta knows the subscriptions of a client of another server.
type observedDelta struct{ letterDelta }

func (m *observedDelta) request(r deltaRequest, first bool) { m.subscribe(r, first) }

func (m *observedDelta) change([]string) {}

// relayed implements protocol.
func (p *sotw) relayed(raw []byte) {
	r := new(discoveryv3.DiscoveryResponse)
	if err := proto.Unmarshal(raw, r); err != nil {
		return // the client finds out
	}
	h, t := p.stream.server.held[r.GetTypeUrl()], p.types[r.GetTypeUrl()]
	if h == nil || t == nil {
		return
	}
	var about []*Resource
	for _, a := range r.GetResources() {
		about = append(about, p.stream.server.unwrap(a))
	}
	about = append(about, refused(r.GetResourceErrors())...)
	h.learn(about)
	p.note(t, r, about)()
}

// relayed implements protocol.
func (p *delta) relayed(raw []byte) {
	r := new(discoveryv3.DeltaDiscoveryResponse)
	if err := proto.Unmarshal(raw, r); err != nil {
		return // the client finds out
	}
	h, t := p.stream.server.held[r.GetTypeUrl()], p.types[r.GetTypeUrl()]
	if h == nil || t == nil {
		return
	}
	var about []*Resource
	for _, w := range r.GetResources() {
		about = append(about, &Resource{Name: w.GetName(), Aliases: w.GetAliases()})
	}
	about = append(about, refused(r.GetResourceErrors())...)
	h.learn(about)
	p.note(h, t, r, about, r.GetRemovedResources())()
}

// unwrap returns the names of a resource in a state-of-the-world response.
func (s *Server) unwrap(a *anypb.Any) *Resource {
	if w := new(discoveryv3.Resource); a.MessageIs(w) && a.UnmarshalTo(w) == nil {
		return &Resource{Name: w.GetName(), Aliases: w.GetAliases()}
	}
	return &Resource{Name: s.names(a.GetTypeUrl(), a.GetValue())}
}

// refused returns the resources with an error in their place.
func refused(errors []*discoveryv3.ResourceError) (about []*Resource) {
	for _, e := range errors {
		about = append(about, &Resource{Name: e.GetResourceName().GetName(), Error: e.GetErrorDetail()})
	}
	return about
}

// learn keeps the names of resources, for checks that need their aliases.
func (h *holdings) learn(about []*Resource) {
	for _, r := range about {
		h.resources[r.Name] = r
	}
}
