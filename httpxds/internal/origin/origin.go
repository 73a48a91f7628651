// Package origin says who sent a request that a server has received: the client may be behind proxies.
package origin

import (
	"context"
	"net/http"
	"net/netip"
)

// The headers by which proxies describe the client.
const (
	ForwardedFor   = "X-Forwarded-For"
	ForwardedProto = "X-Forwarded-Proto"
)

// key is the key of the client's address in the context of a request.
type key struct{}

// With returns the request of a client that is not the peer of the connection.
func With(r *http.Request, client netip.Addr) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), key{}, client))
}

// Client returns the address of the client, and the port if the client is the peer. It is the zero value for addresses that are
// not IP addresses.
func Client(r *http.Request) netip.AddrPort {
	if a, ok := r.Context().Value(key{}).(netip.Addr); ok {
		return netip.AddrPortFrom(a, 0)
	}
	return Peer(r)
}

// Peer returns the address of the connection's peer.
func Peer(r *http.Request) netip.AddrPort { return Parse(r.RemoteAddr) }

// Parse returns an IP address and port without the zone and the IPv4-in-IPv6 form. It is the zero value for other addresses.
func Parse(addr string) netip.AddrPort {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

// Scheme returns the scheme by which the client sent a request that a server has admitted. A trusted proxy may have received the
// request by another one than the server.
func Scheme(r *http.Request) string {
	if v := r.Header[ForwardedProto]; len(v) == 1 && (v[0] == "https" || v[0] == "http") {
		return v[0]
	}
	return SchemeOf(r.TLS != nil)
}

// SchemeOf returns the scheme of a connection.
func SchemeOf(tls bool) string {
	if tls {
		return "https"
	}
	return "http"
}
