package rbac

import (
	"net/netip"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// A ruleSet is what a filter enforces.
type ruleSet struct {
	// Deny says that calls which match a policy are denied, and all others allowed. Without
	// it, it is the other way round.
	Deny bool
	// Policies are sorted by name.
	Policies []namedPolicy
}

// A namedPolicy matches calls that match both of its rules.
type namedPolicy struct {
	Name string
	// Permission is about what is called, Principal about who calls.
	Permission, Principal rule
}

// A rule is something that a call can match: and, or, not, constant, headerRule,
// methodPath, localAddress, localPort, remoteAddress or authenticated.
type rule interface{ isRule() }

// and is matched if all of its rules are; it has one at least.
type and []rule

// or is matched if one of its rules is; it has one at least.
type or []rule

// not is matched if its rule is not.
type not struct{ Rule rule }

// constant is always matched, or never: by whatever is about what gRPC has not.
type constant bool

// A headerRule is matched by a header of the call. Several values of one are joined by commas, a
// binary one is in its base64 form, "host" means ":authority", and headers that are for a
// connection only are not there (A41).
type headerRule struct{ matcher.Header }

// A methodPath is matched by the full name of the method, "/package.Service/Method".
type methodPath struct{ matcher.String }

// A localAddress is matched by the address that was called.
type localAddress struct{ netip.Prefix }

// A localPort is matched by the port that was called.
type localPort uint32

// A remoteAddress is matched by the address of the peer.
type remoteAddress struct{ netip.Prefix }

// authenticated is matched by connections with TLS. With a Name, that must match a URI of
// the peer's certificate; or one of its DNS names, if there is no URI; or its subject, if
// there is neither; or the empty text, if there is no certificate.
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
func (authenticated) isRule() {}
