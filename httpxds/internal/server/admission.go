package server

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// Headers by which proxies describe the client. A server must not pass on those that a client has forged.
const (
	forwardedCert   = "X-Forwarded-Client-Cert"
	envoyInternal   = "X-Envoy-Internal"
	externalAddress = "X-Envoy-External-Address"
)

// An admission prepares the requests of a filter chain for filters and routes, as Envoy's connection manager does.
type admission struct {
	listener.HTTPSettings
	port string // of the Listener
}

// admit changes the headers that describe the client and the host of a request. The result has the client's address.
func (a *admission) admit(r *http.Request) *http.Request {
	r.Host = a.Host(r.Host, a.port)
	a.scheme(r)
	a.certificate(r)
	peer := origin.Peer(r).Addr()
	client, internal := a.client(r.Header[origin.ForwardedFor], peer)
	delete(r.Header, envoyInternal)
	if internal {
		r.Header[envoyInternal] = []string{"true"}
	}
	if a.UseRemoteAddress && peer.IsValid() {
		if !a.SkipAppend {
			list := append(slices.Clone(r.Header[origin.ForwardedFor]), peer.String())
			r.Header[origin.ForwardedFor] = []string{strings.Join(list, ", ")}
		}
		if !internal {
			r.Header[externalAddress] = []string{client.String()}
		}
	}
	if client != peer {
		return origin.With(r, client)
	}
	return r
}

var errNominated = errors.New("the header Connection names a header that describes the client")

// nomination returns the error of a request whose header Connection names one of the headers that describe the client: a proxy
// behind the server would remove the headers of the server. Envoy rejects such requests, too.
func nomination(r *http.Request) error {
	values := r.Header["Connection"]
	if len(values) == 0 {
		return nil
	}
	for _, name := range [...]string{forwardedCert, envoyInternal, externalAddress, origin.ForwardedFor, origin.ForwardedProto} {
		if httpguts.HeaderValuesContainsToken(values, name) {
			return errNominated
		}
	}
	return nil
}

// client returns the address of the client behind trusted proxies, and whether it is internal.
func (a *admission) client(forwarded []string, peer netip.Addr) (client netip.Addr, internal bool) {
	alone := len(forwarded) == 0
	switch {
	case !a.UseRemoteAddress:
		client = addressFromEnd(forwarded, a.TrustedHops)
		alone = len(forwarded) == 1 && !strings.Contains(forwarded[0], ",") && client.IsValid()
	case a.TrustedHops > 0:
		client = addressFromEnd(forwarded, a.TrustedHops-1)
	}
	if !client.IsValid() {
		client = peer
	}
	contains := func(p netip.Prefix) bool { return p.Contains(client) }
	return client, alone && slices.ContainsFunc(a.Internal, contains)
}

// addressFromEnd returns an address in a list of proxies, which may be several header lines. It skips addresses at the end. It
// returns the zero Addr if the list is too short, or if the text there is not an address.
func addressFromEnd(lines []string, skip uint32) netip.Addr {
	for _, line := range slices.Backward(lines) {
		for rest, more := line, true; more; {
			i := strings.LastIndexByte(rest, ',')
			text := rest[i+1:]
			if more = i >= 0; more {
				rest = rest[:i]
			}
			if skip > 0 {
				skip--
				continue
			}
			text = strings.TrimSpace(text)
			if n := len(text); n > 1 && text[0] == '[' && text[n-1] == ']' {
				text = text[1 : n-1]
			}
			addr, err := netip.ParseAddr(text)
			if err != nil || addr.Zone() != "" {
				return netip.Addr{}
			}
			return addr.Unmap()
		}
	}
	return netip.Addr{}
}

// scheme sets X-Forwarded-Proto, unless a trusted proxy has set it to a valid scheme.
func (a *admission) scheme(r *http.Request) {
	own := origin.SchemeOf(r.TLS != nil)
	v := r.Header[origin.ForwardedProto]
	if len(v) == 1 && (v[0] == own || a.TrustedHops > 0 && (v[0] == "https" || v[0] == "http")) {
		return
	}
	r.Header[origin.ForwardedProto] = []string{own}
}
