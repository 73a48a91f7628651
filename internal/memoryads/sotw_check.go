package memoryads

import (
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// check records protocol violations of a request and the response that it answers. It is
// called before the request takes effect.
func (p *sotw) check(h *holdings, t *sotwType, r *discoveryv3.DiscoveryRequest) {
	if sorted := slices.Sorted(slices.Values(r.GetResourceNames())); len(slices.Compact(sorted)) < len(r.GetResourceNames()) {
		p.stream.violation("%s: a name is listed twice", h.URL)
	}
	if t.last == nil {
		p.checkFirst(h, t, r)
		t.list(r)
		return
	}
	answers := r.GetResponseNonce() != "" && r.GetResponseNonce() != t.answered || r.GetErrorDetail() != nil
	p.checkAnswer(h, t, r)
	p.checkNames(h, t, r, answers)
	if r.GetErrorDetail() != nil && t.rejected.rejected(r.GetResponseNonce(), time.Now()) {
		p.stream.mute("%s: the same content is rejected more than %d times in %v", h.URL, maxRejections, stormWindow)
	}
}

// checkNames is for the names of a later request: a request that answers a response has
// those of the request before it. A plain request has others, unless a server may have
// ignored the last change or left a name unanswered.
func (p *sotw) checkNames(h *holdings, t *sotwType, r sotwRequest, answers bool) {
	names := slices.Sorted(slices.Values(r.GetResourceNames()))
	changes := !slices.Equal(names, slices.Sorted(slices.Values(t.last.GetResourceNames())))
	switch stale := r.GetResponseNonce() != t.nonce; {
	case changes && answers:
		p.stream.violation("%s: a request answers response %s and changes the names from %q to %q", h.URL, r.GetResponseNonce(), t.last.GetResourceNames(), names)
	case r.GetErrorDetail() != nil:
		t.asked.reopen() // the response may have crossed the request for a collection
	case answers:
	case changes:
		t.rejected.changed()
	case stale || t.differs || !slices.Equal(names, t.heeded):
	default:
		open := func(name string) bool { return t.asked.open(name, p.stream.sentAt) }
		if !slices.ContainsFunc(names, open) && (len(names) > 0 || !open(wildcard)) {
			p.stream.violation("%s: a request without any effect: it answers no response, and %q are answered", h.URL, names)
		}
		if t.last.GetErrorDetail() == nil && t.asked.repeat(time.Now()) { // one may follow each NACK
			p.stream.violation("%s: %q are requested too often", h.URL, names)
		}
	}
	t.list(r)
}

// list notes the names that the client asks for.
func (t *sotwType) list(r sotwRequest) {
	names := slices.Sorted(slices.Values(r.GetResourceNames()))
	wanted := names
	if t.asked.explicit = t.asked.explicit || len(names) > 0; !t.asked.explicit {
		wanted = []string{wildcard}
	}
	for _, n := range wanted {
		t.asked.ask(n)
	}
	for n := range t.asked.names {
		if !slices.Contains(wanted, n) {
			t.asked.drop(n)
		}
	}
	if r.GetErrorDetail() == nil && r.GetResponseNonce() == t.nonce {
		t.heeded, t.differs = names, false
		return
	}
	t.differs = t.differs || !slices.Equal(names, t.heeded)
}

// checkFirst is for the first request of a type on the stream.
func (p *sotw) checkFirst(h *holdings, t *sotwType, r *discoveryv3.DiscoveryRequest) {
	if n := r.GetResponseNonce(); n != "" {
		p.stream.violation("%s: nonce %q in the first request of a stream", h.URL, n)
	}
	if r.GetErrorDetail() != nil {
		p.stream.violation("%s: a rejection in the first request of a stream", h.URL)
	}
	everything := len(r.GetResourceNames()) == 0 || slices.Contains(r.GetResourceNames(), wildcard)
	if everything && !h.Wildcard {
		p.stream.violation("%s: a subscription to everything", h.URL)
	}
	if v := r.GetVersionInfo(); v != "" && !p.stream.server.record.sent[key(h.URL, v)] {
		p.stream.violation("%s: version %q, which was never sent", h.URL, v)
	}
	t.accepted = r.GetVersionInfo()
}

// checkAnswer is for the nonce and the version: an ACK has the version of the
// response, everything else the version that was accepted last.
func (p *sotw) checkAnswer(h *holdings, t *sotwType, r *discoveryv3.DiscoveryRequest) {
	nonce, rejects := r.GetResponseNonce(), r.GetErrorDetail() != nil
	version, sent := t.versions[nonce]
	switch {
	case nonce == "" && rejects:
		p.stream.violation("%s: a rejection without a nonce", h.URL)
	case nonce == "":
	case !sent:
		p.stream.violation("%s: nonce %q, which was not sent on this stream", h.URL, nonce)
	case slices.Index(t.order, nonce) < slices.Index(t.order, t.answered):
		p.stream.violation("%s: nonce %q, after a later response was answered", h.URL, nonce)
	case nonce != t.answered && !rejects:
		t.accepted, t.answered = version, nonce
	case nonce != t.answered:
		t.skipTo(nonce, r.GetVersionInfo())
	case rejects && t.last.GetErrorDetail() == nil:
		p.stream.violation("%s: a rejection of response %s, which was accepted before", h.URL, nonce)
	}
	if v := r.GetVersionInfo(); v != t.accepted {
		p.stream.violation("%s: version %q with nonce %q; want the accepted one, %q", h.URL, v, nonce, t.accepted)
	}
}

// skipTo notes the answer to a response. Of those between the one that was answered
// last and this one, the client may have accepted any without a word.
func (t *sotwType) skipTo(nonce, version string) {
	skipped := t.order[slices.Index(t.order, t.answered)+1 : slices.Index(t.order, nonce)]
	if slices.ContainsFunc(skipped, func(n string) bool { return t.versions[n] == version }) {
		t.accepted = version
	}
	t.answered = nonce
}

// unanswered implements protocol. An answer to a response answers the earlier
// ones of its type.
func (p *sotw) unanswered() map[string]time.Time {
	nonces := make(map[string]time.Time)
	for _, t := range p.types {
		if t.received != t.answered {
			nonces[t.received] = t.owed
		}
	}
	return nonces
}
