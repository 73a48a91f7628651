package rbac

import (
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
)

// A request is what rules see of a call.
type request struct {
	call          *httpfilter.ServerCall
	local, remote netip.AddrPort
	tls           bool
	leaf          *x509.Certificate // the peer's; nil: it has shown none
	names         *nameCache
}

func newRequest(call *httpfilter.ServerCall, names *nameCache) request {
	r := request{call: call, local: addrPort(call.Local), remote: addrPort(call.Remote), names: names}
	if info, ok := call.AuthInfo.(credentials.TLSInfo); ok {
		r.tls = true
		if len(info.State.PeerCertificates) > 0 {
			r.leaf = info.State.PeerCertificates[0]
		}
	}
	return r
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

// matches reports whether the call matches a rule.
func (r *request) matches(rule config.Rule) bool {
	switch rule := rule.(type) {
	case config.And:
		for _, x := range rule {
			if !r.matches(x) {
				return false
			}
		}
		return true
	case config.Or:
		return slices.ContainsFunc(rule, r.matches)
	case config.Not:
		return !r.matches(rule.Rule)
	case config.Constant:
		return bool(rule)
	case config.Header:
		return rule.Match(r.header(rule.Name))
	case config.Path:
		return rule.Match(r.call.Method)
	case config.LocalAddress:
		return rule.Contains(r.local.Addr())
	case config.LocalPort:
		return r.local.IsValid() && uint32(rule) == uint32(r.local.Port())
	case config.RemoteAddress:
		return rule.Contains(r.remote.Addr())
	case config.Authenticated:
		return r.tls && (rule.Name == nil || r.authenticated(rule.Name))
	default:
		return false
	}
}

// header is what a header is for rules, and whether it is there (A41).
func (r *request) header(name string) (value string, there bool) {
	switch name {
	case ":method":
		return "POST", true // gRPC takes no other
	case ":path":
		return r.call.Method, true
	case "host":
		name = ":authority"
	case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade":
		return "", false // about a connection only (RFC 7230 section 6.1)
	}
	values := r.call.Metadata[name]
	if strings.HasSuffix(name, "-bin") {
		values = encoded(values)
	}
	switch len(values) {
	case 0:
		return "", false
	case 1:
		return values[0], true
	default:
		return strings.Join(values, ","), true
	}
}

// encoded are binary values as they were on the wire.
func encoded(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = base64.RawStdEncoding.EncodeToString([]byte(v))
	}
	return out
}

// authenticated reports whether the identity of the peer matches.
func (r *request) authenticated(name *matcher.String) bool {
	if r.leaf == nil {
		return name.Match("")
	}
	return slices.ContainsFunc(r.names.of(r.leaf).list, name.Match)
}

// principal is who the peer is, for people; empty: nobody knows.
func (r *request) principal() string {
	if r.leaf == nil {
		return ""
	}
	return r.names.of(r.leaf).list[0]
}
