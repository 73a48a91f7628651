package rbac

import (
	"net/netip"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// A ruleSet is the set of rules that a filter enforces.
type ruleSet struct {
	// Deny denies calls that match a policy and allows all others. Without it, calls that
	// match are allowed and all others are denied.
	Deny bool
	// Policies are sorted by name.
	Policies []namedPolicy
}

// A namedPolicy matches calls that match both of its rules.
type namedPolicy struct {
	Name string
	// Permission matches the called method and address. Principal matches the caller.
	Permission, Principal rule
}

// A rule is a condition that a call can match: and, or, not, constant, headerRule,
// methodPath, localAddress, localPort, remoteAddress, clientAddress, serverName or authenticated.
type rule interface{ isRule() }

// and matches if all of its rules match. It has at least one.
type and []rule

// or matches if one of its rules matches. It has at least one.
type or []rule

// not matches if its rule does not match.
type not struct{ Rule rule }

// constant matches always or never. It represents conditions on properties that gRPC does
// not have.
type constant bool

// A headerRule matches a header of the call (A41). Several values are joined by commas.
// Binary values are in base64. "host" means ":authority". Hop-by-hop headers are never
// present.
type headerRule struct{ matcher.Header }

// A methodPath matches the full name of the method, "/package.Service/Method".
type methodPath struct{ matcher.String }

// A localAddress matches the local address of the connection.
type localAddress struct{ netip.Prefix }

// A localPort matches the local port of the connection.
type localPort uint32

// A remoteAddress matches the address of the peer.
type remoteAddress struct{ netip.Prefix }

// A clientAddress matches the address of the client, which is that of the peer unless an HTTP request has passed trusted proxies.
type clientAddress struct{ netip.Prefix }

// A serverName matches the server name of the TLS handshake of an HTTP request. That of a gRPC call is empty (A41).
type serverName struct{ matcher.String }

// authenticated matches connections with TLS. A Name must match a URI of the peer's
// certificate. If there is no URI it must match a DNS name, and else the subject. Without a
// certificate it must match the empty string.
type authenticated struct{ Name *matcher.String }

func (and) isRule()           {}
func (or) isRule()            {}
func (not) isRule()           {}
func (constant) isRule()      {}
func (headerRule) isRule()    {}
func (methodPath) isRule()    {}
func (localAddress) isRule()  {}
func (localPort) isRule()     {}
func (remoteAddress) isRule() {}
func (clientAddress) isRule() {}
func (serverName) isRule()    {}
func (authenticated) isRule() {}
