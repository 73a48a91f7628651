package serve

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// An Identity is the identity in a client's certificate, which the TLS of the gRPC server has verified
// (tls.Config.ClientAuth). The zero Identity is that of a client without a verified certificate.
type Identity struct {
	SPIFFE  string   // URI, such as "spiffe://example.com/ns/shop/sa/cart"
	DNS     []string // DNS names
	Subject string   // distinguished name, such as "CN=cart,O=Example"
}

// IsZero reports whether the client has no verified certificate.
func (i Identity) IsZero() bool { return i.SPIFFE == "" && len(i.DNS) == 0 && i.Subject == "" }

// String returns the most specific name in the form of the patterns of [Permission].
func (i Identity) String() string {
	switch {
	case i.SPIFFE != "":
		return i.SPIFFE
	case len(i.DNS) > 0:
		return "dns:" + i.DNS[0]
	case i.Subject != "":
		return "subject:" + i.Subject
	}
	return "anonymous"
}

// identify returns the identity and the network address of a stream's client.
func identify(ctx context.Context) (id Identity, address string) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return id, ""
	}
	if p.Addr != nil {
		address = p.Addr.String()
	}
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
		id = identityOf(info.State.VerifiedChains[0][0])
	}
	return id, address
}

// identityOf returns the identity in a certificate. A certificate with several URIs is no SPIFFE
// document, and none of its URIs counts.
func identityOf(c *x509.Certificate) Identity {
	id := Identity{DNS: slices.Clone(c.DNSNames), Subject: c.Subject.String()}
	if len(c.URIs) == 1 && strings.EqualFold(c.URIs[0].Scheme, "spiffe") {
		id.SPIFFE = c.URIs[0].String()
	}
	return id
}

// clientOf returns the name under which the limits count a client. A client of IPv6 has a whole network of addresses.
func (l *Limits) clientOf(id Identity, address string) string {
	if !id.IsZero() {
		return id.String()
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, l.IPv6Prefix).Masked().String()
}
