package adslog

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

const wildcard = "*"

// A subscription is what one stream asked for and received of one type.
type subscription struct {
	kind     Kind
	names    map[string]bool
	explicit bool              // a state-of-the-world request had names
	begun    bool              // a delta request was read
	delta    bool              // the variant
	has      map[string]string // bodies that the client accepted: by name, or by body if no name was sent
	open     []response        // those without ACK and NACK, oldest first
	rejected string            // message of the last answer if that was a NACK
}

// A response changes what the client has, once it accepts.
type response struct {
	nonce   string
	bodies  map[string]string // as subscription.has
	removed []string
}

func (t *subscription) sorted() []string { return slices.Sorted(maps.Keys(t.names)) }

// wants reports whether the names or collections of the subscription include a name.
func (t *subscription) wants(name string) bool {
	if t.names[name] {
		return true
	}
	member, err := xdstp.Parse(name)
	if err != nil {
		return false
	}
	if t.names[wildcard] && !member.IsXdstp() {
		return true
	}
	for n := range t.names {
		if glob, err := xdstp.Parse(n); err == nil && glob.Contains(member) {
			return true
		}
	}
	return false
}

func (s *Stream) request(m proto.Message) {
	switch r := m.(type) {
	case *discoveryv3.DiscoveryRequest:
		t := s.of(r.GetTypeUrl())
		t.explicit = t.explicit || len(r.GetResourceNames()) > 0
		clear(t.names)
		for _, n := range r.GetResourceNames() {
			t.names[n] = true
		}
		t.names[wildcard] = t.names[wildcard] || !t.explicit
		if !t.names[wildcard] {
			delete(t.names, wildcard)
		}
		s.answer(t, r.GetTypeUrl(), r.GetResponseNonce(), r.GetErrorDetail())
	case *discoveryv3.DeltaDiscoveryRequest:
		t := s.of(r.GetTypeUrl())
		if !t.begun && len(r.GetResourceNamesSubscribe()) == 0 {
			t.names[wildcard] = true
		}
		t.begun, t.delta = true, true
		for _, n := range r.GetResourceNamesSubscribe() {
			t.names[n] = true
		}
		for _, n := range r.GetResourceNamesUnsubscribe() {
			delete(t.names, n)
		}
		s.answer(t, r.GetTypeUrl(), r.GetResponseNonce(), r.GetErrorDetail())
	}
}

// answer notes an ACK or NACK. In the state of the world, it answers earlier responses, too.
func (s *Stream) answer(t *subscription, url, nonce string, problem *rpcstatus.Status) {
	i := slices.IndexFunc(t.open, func(r response) bool { return r.nonce == nonce })
	if problem != nil {
		s.log.rejections = append(s.log.rejections, rejection{url, problem.GetMessage()})
	}
	if i < 0 {
		return
	}
	first := 0
	if t.delta {
		first = i
	}
	answered := slices.Clone(t.open[first : i+1])
	t.open = slices.Delete(t.open, first, i+1)
	if t.rejected = problem.GetMessage(); problem != nil {
		return
	}
	for _, r := range answered {
		t.accept(r)
	}
}

// accept notes that the client has the content of a response.
func (t *subscription) accept(r response) {
	if !t.delta && t.kind.Complete {
		clear(t.has)
	}
	for _, name := range r.removed {
		delete(t.has, name)
	}
	maps.Copy(t.has, r.bodies)
}

func (s *Stream) response(m proto.Message) {
	switch r := m.(type) {
	case *discoveryv3.DiscoveryResponse:
		t := s.of(r.GetTypeUrl())
		bodies := make(map[string]string)
		for _, res := range r.GetResources() {
			name, body := unwrap(res)
			bodies[t.name(name, body)] = body
		}
		t.open = append(t.open, response{nonce: r.GetNonce(), bodies: bodies})
	case *discoveryv3.DeltaDiscoveryResponse:
		bodies := make(map[string]string)
		for _, res := range r.GetResources() {
			bodies[res.GetName()] = string(res.GetResource().GetValue())
		}
		t := s.of(r.GetTypeUrl())
		t.open = append(t.open, response{r.GetNonce(), bodies, r.GetRemovedResources()})
	}
}

// name returns the name of a resource; its body if neither a wrapper nor the message has a name.
func (t *subscription) name(wrapper, body string) string {
	if wrapper != "" {
		return wrapper
	}
	if t.kind.Name != nil {
		if n, err := t.kind.Name([]byte(body)); err == nil {
			return n
		}
	}
	return body
}

// unwrap returns the name of a state-of-the-world resource, if it has a wrapper, and its body.
func unwrap(a *anypb.Any) (name, body string) {
	var w discoveryv3.Resource
	if a.MessageIs(&w) && proto.Unmarshal(a.GetValue(), &w) == nil {
		return w.GetName(), string(w.GetResource().GetValue())
	}
	return "", string(a.GetValue())
}
