package rbac

import (
	"crypto/x509"
	"net/netip"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
)

// A Call has the properties of a call that rules match.
type Call struct {
	// Method is the full name of the method, "/package.Service/Method".
	Method string
	// Metadata has the headers. Names are in lower case.
	Metadata map[string][]string
	// Local and Remote are the addresses of the connection, without zones. IPv4 addresses
	// are unmapped. An address that is not an IP address is the zero value.
	Local, Remote netip.AddrPort
	// Client is the address of the client of an HTTP request, which may be behind proxies. It is the zero value if it is that
	// of Remote, as for gRPC calls.
	Client netip.Addr
	// TLS reports whether the connection uses TLS.
	TLS bool
	// Certificate is the peer's certificate. It is nil if the peer sent none.
	Certificate *x509.Certificate
	// HTTP has the headers of a request that is not a gRPC call. Method is then its path, and Metadata is not used.
	HTTP *Request
}

// A Request has the headers of an HTTP request.
type Request struct {
	// Verb is the method, such as "GET".
	Verb string
	// Target is the path with the query.
	Target string
	// Authority is the host that the request names.
	Authority string
	// Scheme is "http" or "https".
	Scheme string
	// ServerName is the server name (SNI) of the TLS handshake.
	ServerName string
	// Values returns the values of another header. Names are in lower case.
	Values func(name string) []string
}

// Evaluate reports whether the rules allow a call. It also returns the first policy, by
// name, that matches the call, or "". A configuration without rules allows all calls.
// Evaluate is safe for concurrent use.
func (c *Config) Evaluate(call *Call) (policy string, allowed bool) {
	if c == nil || c.Rules == nil || call == nil {
		return "", c == nil || c.Rules == nil
	}
	r := request{*call, c.names}
	for i := range c.Rules.Policies {
		if p := &c.Rules.Policies[i]; r.matches(p.Permission) && r.matches(p.Principal) {
			return p.Name, !c.Rules.Deny
		}
	}
	return "", c.Rules.Deny
}

// Principal returns the first name in the peer's certificate, for audit logs: a URI, or a
// DNS name, or the subject. It returns "" if the peer sent no certificate.
func (c *Config) Principal(call *Call) string {
	if call == nil || call.Certificate == nil {
		return ""
	}
	return c.names.of(call.Certificate).list[0]
}

// A request is a call and the names of its peer.
type request struct {
	Call
	names *nameCache
}

// matches reports whether the call matches a rule.
func (r *request) matches(x rule) bool {
	switch rule := x.(type) {
	case and:
		for _, one := range rule {
			if !r.matches(one) {
				return false
			}
		}
		return true
	case or:
		return slices.ContainsFunc(rule, r.matches)
	case not:
		return !r.matches(rule.Rule)
	case constant:
		return bool(rule)
	case headerRule:
		return rule.Match(r.header(rule.Name))
	case methodPath:
		return rule.Match(r.Method)
	case localAddress:
		return rule.Contains(r.Local.Addr())
	case localPort:
		return r.Local.IsValid() && uint32(rule) == uint32(r.Local.Port())
	case remoteAddress:
		return rule.Contains(r.Remote.Addr())
	case clientAddress:
		if r.Client.IsValid() {
			return rule.Contains(r.Client)
		}
		return rule.Contains(r.Remote.Addr())
	case serverName:
		if r.HTTP != nil {
			return rule.Match(r.HTTP.ServerName)
		}
		return rule.Match("") // gRPC has none (A41)
	case authenticated:
		return r.TLS && (rule.Name == nil || r.authenticated(rule.Name))
	default:
		return false
	}
}

// header returns the value of a header as rules see it, and whether it is present (A41).
func (r *request) header(name string) (value string, there bool) {
	if r.HTTP != nil {
		return r.HTTP.header(name)
	}
	return grpcheader.Value(r.Method, r.Metadata, name)
}

// header returns the value of a header and whether it is present, as Envoy does.
func (r *Request) header(name string) (value string, there bool) {
	switch name {
	case ":method":
		return r.Verb, true
	case ":path":
		return r.Target, true
	case ":authority", "host":
		return r.Authority, true
	case ":scheme":
		return r.Scheme, true
	}
	values := r.Values(name)
	return strings.Join(values, ","), len(values) > 0
}

// authenticated reports whether the identity of the peer matches.
func (r *request) authenticated(name *matcher.String) bool {
	if r.Certificate == nil {
		return name.Match("")
	}
	return slices.ContainsFunc(r.names.of(r.Certificate).list, name.Match)
}
