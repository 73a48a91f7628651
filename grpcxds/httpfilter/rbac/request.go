package rbac

import (
	"net"
	"net/netip"

	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
)

// rulesCall is what rules see of a call.
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

// addrPort is what an address says that is one of IP, without what is no part of prefixes:
// a zone, and the way in which an IPv6 socket shows an IPv4 address.
func addrPort(a net.Addr) netip.AddrPort {
	if a, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
	}
	return netip.AddrPort{}
}
