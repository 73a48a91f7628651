package memoryads

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// sotw is the state-of-the-world variant.
type sotw struct {
	stream *stream
	types  map[string]*sotwType
}

// A sotwType is what a stream knows of a type.
type sotwType struct {
	last     *discoveryv3.DiscoveryRequest
	names    map[string]bool   // subscribed to; "*" for everything
	explicit bool              // a request had names
	accepted string            // the version that the client has
	versions map[string]string // by the nonces that were sent
	order    []string          // of those nonces
	nonce    string            // sent last
	received string            // nonce of the last response that the client took
	answered string            // nonce that it answered last
}

// read implements protocol.
func (p *sotw) read(raw []byte) {
	r := new(discoveryv3.DiscoveryRequest)
	if err := proto.Unmarshal(raw, r); err != nil {
		p.stream.violation("not a DiscoveryRequest: %v", err)
		return
	}
	p.stream.begin(r, r.GetNode())
	h, ok := p.stream.server.held[r.GetTypeUrl()]
	if !ok {
		return // of a type that is not served: there is nothing to say
	}
	t, known := p.types[h.URL]
	if !known {
		t = &sotwType{versions: make(map[string]string)}
		p.types[h.URL] = t
	}
	p.check(h, t, r)
	t.last = r
	if n := r.GetResponseNonce(); n != "" && n != t.nonce {
		return // stale: the client will answer the newer response
	}
	added := t.subscribe(r.GetResourceNames())
	if len(added) > 0 {
		p.respond(h, t, added)
	}
}

// subscribe replaces the names, and returns those that are new. Without names, a
// request asks for everything, unless one on the stream had names.
func (t *sotwType) subscribe(names []string) (added []string) {
	t.explicit = t.explicit || len(names) > 0
	if !t.explicit {
		names = []string{wildcard}
	}
	now := make(map[string]bool)
	for _, n := range names {
		if now[n] = true; !t.names[n] {
			added = append(added, n)
		}
	}
	t.names = now
	return added
}

// names implements protocol.
func (p *sotw) names() (names []string) {
	for _, t := range p.types {
		names = slices.AppendSeq(names, maps.Keys(t.names))
	}
	return names
}

// change implements protocol.
func (p *sotw) change(h *holdings, names []string) {
	t, ok := p.types[h.URL]
	if !ok {
		return
	}
	meant := func(name string) bool { return t.names[name] || t.names[wildcard] && covers(wildcard, name) }
	if names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !meant(n) }); len(names) > 0 {
		p.respond(h, t, names)
	}
}

// respond sends the resources with these names, or, of a complete type, all that
// the client subscribed to. What is not there is passed over, and a response that
// would say nothing is sent for complete types only.
func (p *sotw) respond(h *holdings, t *sotwType, names []string) {
	r := &discoveryv3.DiscoveryResponse{TypeUrl: h.URL, VersionInfo: h.state()}
	for _, res := range h.sorted() {
		asked, meant := res.in(names), t.names[res.Name] || covered(t.names, res.Name)
		switch {
		case res.Error != nil && asked:
			r.ResourceErrors = append(r.ResourceErrors, &discoveryv3.ResourceError{
				ResourceName: &discoveryv3.ResourceName{Name: res.Name}, ErrorDetail: res.Error,
			})
		case res.Error == nil && (asked || h.Complete && meant):
			r.Resources = append(r.Resources, res.any(h.URL, true))
		}
	}
	if h.Complete || len(r.GetResources())+len(r.GetResourceErrors()) > 0 {
		p.send(t, r)
	}
}

// heartbeat implements protocol. Of a complete type, all resources have to be in
// the response; those that the heartbeat is not for are sent again.
func (p *sotw) heartbeat(h *holdings, names []string) {
	t, ok := p.types[h.URL]
	if !ok {
		return
	}
	r := &discoveryv3.DiscoveryResponse{TypeUrl: h.URL, VersionInfo: h.state()}
	for _, res := range h.sorted() {
		meant := t.names[res.Name] || covered(t.names, res.Name)
		if beats := slices.Contains(names, res.Name); meant && res.Error == nil && (beats || h.Complete) {
			r.Resources = append(r.Resources, res.any(h.URL, !beats))
		}
	}
	if len(r.GetResources()) > 0 {
		p.send(t, r)
	}
}

func (p *sotw) send(t *sotwType, r *discoveryv3.DiscoveryResponse) {
	if p.stream.silent() {
		return
	}
	nonce := p.stream.server.nonce()
	r.Nonce = nonce
	t.nonce, t.versions[nonce], t.order = nonce, r.GetVersionInfo(), append(t.order, nonce)
	p.stream.server.record.sent[key(r.GetTypeUrl(), r.GetVersionInfo())] = true
	p.stream.respond(r, func() { t.received = nonce })
}

// in reports whether one of the names means the resource.
func (r *Resource) in(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return r.called(n) || covers(n, r.Name) })
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
