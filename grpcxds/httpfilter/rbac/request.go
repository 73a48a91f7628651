package rbac

import (
	"net"
	"net/netip"

	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
)

// rulesCall returns the properties of a call that rules match.
func rulesCall(call *httpfilter.ServerCall) config.Call {
	out := config.Call{Method: call.Method, Metadata: call.Metadata, Local: addrPort(call.Local), Remote: addrPort(call.Remote)}
	if info, ok := call.AuthInfo.(credentials.TLSInfo); ok {
		out.TLS = true
		if len(info.State.PeerCertificates) > 0 {
			out.Certificate = info.State.PeerCertificates[0]
		}
	}
	return out
}

// addrPort returns the IP address and port of an address, or the zero value for other kinds of addresses. It removes
// the zone and the IPv4-in-IPv6 form, which prefixes do not have.
func addrPort(a net.Addr) netip.AddrPort {
	if a, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
	}
	return netip.AddrPort{}
}
