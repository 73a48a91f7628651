package memoryads

import (
	"maps"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

type sotwRequest = *discoveryv3.DiscoveryRequest

// sotw is the state-of-the-world variant.
type sotw struct {
	stream *stream
	types  map[string]*sotwType
}

// A sotwType is the state of one type on a stream.
type sotwType struct {
	manner   sotwManner
	last     sotwRequest
	accepted string            // the version that the client has
	versions map[string]string // by the nonces that were sent
	order    []string          // of those nonces
	nonce    string            // sent last
	received string            // nonce of the last response that the client took
	owed     time.Time         // when the client took the first response that it has not answered
	answered string            // nonce that it answered last
	rejected rejections
	asked    *asked
	heeded   []string // names of the last request that no server may pass over, sorted
	differs  bool     // a later request, which a server may pass over, had other names
}

// read implements protocol.
func (p *sotw) read(raw []byte) (decoded bool) {
	r := new(discoveryv3.DiscoveryRequest)
	if err := proto.Unmarshal(raw, r); err != nil {
		p.stream.violation("not a DiscoveryRequest: %v", err)
		return false
	}
	p.stream.begin(r, r.GetNode())
	h, ok := p.stream.server.held[r.GetTypeUrl()]
	if !ok {
		return true // of a type that is not served: there is nothing to say
	}
	t, known := p.types[h.URL]
	if !known {
		t = &sotwType{versions: make(map[string]string), asked: newAsked()}
		p.stream.asked[h.URL] = t.asked
		t.manner = newSotwManner(p, h, t)
		p.types[h.URL] = t
	}
	p.check(h, t, r)
	t.last = r
	t.manner.request(r)
	return true
}

// names implements protocol.
func (p *sotw) names() (names []string) {
	for _, t := range p.types {
		names = slices.AppendSeq(names, maps.Keys(t.manner.names()))
	}
	return names
}

// change implements protocol.
func (p *sotw) change(h *holdings, names []string) {
	if t, ok := p.types[h.URL]; ok {
		t.manner.change(names)
	}
}

// heartbeat implements protocol. Of a complete type, all resources have to be in
// the response; those that the heartbeat is not for are sent again.
func (p *sotw) heartbeat(h *holdings, names []string) {
	t, ok := p.types[h.URL]
	if !ok {
		return
	}
	cache, ok := t.manner.(*cacheSotw)
	if ok && cache.open == nil {
		return // it has no watch to answer
	}
	var about []*Resource
	r := &discoveryv3.DiscoveryResponse{TypeUrl: h.URL, VersionInfo: h.state()}
	for _, res := range h.valid() {
		beats := slices.Contains(names, res.Name)
		if meant(t.manner.names(), res.Name) && (beats || h.Complete) {
			r.Resources = append(r.Resources, res.any(h.URL, !beats))
			if !beats {
				about = append(about, res)
			}
		}
	}
	if len(r.GetResources()) == 0 {
		return
	}
	nonce := p.post(t, r, about)
	if cache != nil {
		cache.open, cache.nonce = nil, nonce
	}
}

// send sends some resources and errors, and returns the nonce of the response.
func (p *sotw) send(h *holdings, t *sotwType, version string, about []*Resource) (nonce string) {
	r := &discoveryv3.DiscoveryResponse{TypeUrl: h.URL, VersionInfo: version}
	for _, res := range about {
		if res.Error != nil {
			r.ResourceErrors = append(r.ResourceErrors, res.trouble())
		} else {
			r.Resources = append(r.Resources, res.any(h.URL, true))
		}
	}
	return p.post(t, r, about)
}

// post sends a response that speaks of some resources, and returns its nonce.
func (p *sotw) post(t *sotwType, r *discoveryv3.DiscoveryResponse, about []*Resource) (nonce string) {
	if p.stream.silent() {
		return t.nonce
	}
	r.Nonce = p.stream.server.nonce()
	p.stream.respond(r, p.note(t, r, about))
	return r.GetNonce()
}

// note records a response, and returns a function that records that the client has received it.
func (p *sotw) note(t *sotwType, r *discoveryv3.DiscoveryResponse, about []*Resource) (received func()) {
	nonce := r.GetNonce()
	t.nonce, t.versions[nonce], t.order = nonce, r.GetVersionInfo(), append(t.order, nonce)
	p.stream.server.record.sent[key(r.GetTypeUrl(), r.GetVersionInfo())] = true
	t.rejected.sent(nonce, &discoveryv3.DiscoveryResponse{Resources: r.GetResources()})
	return func() {
		if t.received == t.answered {
			t.owed = time.Now()
		}
		t.received = nonce
		has, others := called(about)
		t.asked.answer(has, others, false)
	}
}

// in reports whether one of the names means the resource.
func (r *Resource) in(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return r.called(n) || covers(n, r.Name) })
}

// meant reports whether a resource is subscribed to, by its name or in a wildcard or
// glob.
func meant(subscribed map[string]bool, name string) bool {
	return subscribed[name] || covered(subscribed, name)
}

// covered reports whether one of the names is a wildcard or glob with the member.
func covered(names map[string]bool, member string) bool {
	for n := range names {
		if covers(n, member) {
			return true
		}
	}
	return false
}

// any is the resource in a state-of-the-world response: as it is, unless there is
// more to say than its bytes. A heartbeat has no body.
func (r *Resource) any(typeURL string, body bool) *anypb.Any {
	plain := &anypb.Any{TypeUrl: typeURL, Value: r.Body}
	if body && r.TTL == 0 && len(r.Aliases) == 0 && !r.Wrapped {
		return plain
	}
	wrapped, err := anypb.New(r.wrapper(typeURL, body))
	if err != nil {
		panic("memoryads: " + err.Error()) // the server made the message itself
	}
	return wrapped
}

func (r *Resource) wrapper(typeURL string, body bool) *discoveryv3.Resource {
	w := &discoveryv3.Resource{Name: r.Name, Version: r.version, Aliases: r.Aliases}
	if r.TTL > 0 {
		w.Ttl = durationpb.New(r.TTL)
	}
	if body {
		w.Resource = &anypb.Any{TypeUrl: typeURL, Value: r.Body}
	}
	return w
}
