package memoryads

import (
	"maps"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// check records protocol violations of a request. It is called before the request takes
// effect. t is nil for the first request of a type on the stream.
func (p *delta) check(h *holdings, t *deltaType, r *discoveryv3.DeltaDiscoveryRequest) {
	for _, n := range r.GetResourceNamesSubscribe() {
		if slices.Contains(r.GetResourceNamesUnsubscribe(), n) {
			p.stream.violation("%s: %q is subscribed to and unsubscribed from in one request", h.URL, n)
		}
	}
	p.checkAnswer(h, t, r)
	if t == nil {
		p.checkFirst(h, r)
		return
	}
	if len(r.GetInitialResourceVersions()) > 0 {
		p.stream.violation("%s: initial_resource_versions in a later request", h.URL)
	}
	changes := len(r.GetResourceNamesSubscribe())+len(r.GetResourceNamesUnsubscribe()) > 0
	if changes {
		t.rejected.changed()
	}
	if changes && r.GetResponseNonce() != "" {
		p.stream.violation("%s: a request answers response %s and changes subscriptions", h.URL, r.GetResponseNonce())
	}
	if r.GetResponseNonce() == "" && !changes {
		p.stream.violation("%s: a request without any effect", h.URL)
	}
	if r.GetErrorDetail() != nil && t.rejected.rejected(r.GetResponseNonce(), time.Now()) {
		p.stream.mute("%s: the same content is rejected more than %d times in %v", h.URL, maxRejections, stormWindow)
	}
}

// checkNames is for the names of a request. One that is subscribed to may be subscribed to
// again while the server leaves it unanswered.
func (p *delta) checkNames(h *holdings, t *deltaType, r *discoveryv3.DeltaDiscoveryRequest, first bool) {
	for _, n := range r.GetResourceNamesUnsubscribe() {
		t.asked.drop(n)
	}
	names := r.GetResourceNamesSubscribe()
	if first && len(names) == 0 {
		t.asked.legacy = true
		t.asked.ask(wildcard)
		return
	}
	repeats := false
	for _, n := range names {
		switch {
		case t.asked.ask(n), t.asked.spell(n):
		case t.asked.open(n, p.stream.sentAt):
			repeats = true
		default:
			p.stream.violation("%s: %q is subscribed to again, although it is answered", h.URL, n)
		}
	}
	if repeats && t.asked.repeat(time.Now()) {
		p.stream.violation("%s: %q are requested too often", h.URL, names)
	}
}

// checkAnswer is for the nonce: it stands in the one ACK or NACK of a response,
// and nowhere else.
func (p *delta) checkAnswer(h *holdings, t *deltaType, r *discoveryv3.DeltaDiscoveryRequest) {
	nonce, sent := r.GetResponseNonce(), false
	if t != nil {
		_, sent = t.removed[nonce]
	}
	switch {
	case nonce == "" && r.GetErrorDetail() != nil:
		p.stream.violation("%s: a rejection without a nonce", h.URL)
	case nonce == "" || t != nil && slices.Contains(t.open, nonce):
	case sent:
		p.stream.violation("%s: response %s is answered twice", h.URL, nonce)
	default:
		p.stream.violation("%s: nonce %q, which was not sent on this stream", h.URL, nonce)
	}
}

// checkFirst is for the first request of a type on the stream.
func (p *delta) checkFirst(h *holdings, r *discoveryv3.DeltaDiscoveryRequest) {
	record, names := &p.stream.server.record, r.GetResourceNamesSubscribe()
	if everything := len(names) == 0 || slices.Contains(names, wildcard); everything && !h.Wildcard {
		p.stream.violation("%s: a subscription to everything", h.URL)
	}
	subscribed := make(map[string]bool)
	for _, n := range names {
		subscribed[n] = true
	}
	for _, n := range names {
		k := key(h.URL, n)
		if record.learned[k] && !record.explicit[k] && covered(subscribed, n) {
			p.stream.violation("%s: %q is subscribed to by name, but was only learned from a wildcard or glob", h.URL, n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(r.GetInitialResourceVersions())) {
		v := r.GetInitialResourceVersions()[n]
		if !record.sent[key(h.URL, n+" "+v)] {
			p.stream.violation("%s: initial version %q of %q, which was never sent", h.URL, v, n)
		}
		if record.gone[key(h.URL, n)] {
			p.stream.violation("%s: an initial version of %q, although the client confirmed its removal", h.URL, n)
		}
		if len(names) > 0 && !meantResource(subscribed, h, n) {
			p.stream.violation("%s: an initial version of %q, which is not subscribed to", h.URL, n)
		}
	}
}

// unanswered implements protocol.
func (p *delta) unanswered() map[string]time.Time {
	nonces := make(map[string]time.Time)
	for _, t := range p.types {
		for _, n := range t.open {
			if at, ok := t.received[n]; ok {
				nonces[n] = at
			}
		}
	}
	return nonces
}
