package rbac

import (
	"net/netip"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// Rules are what a filter enforces.
type Rules struct {
	// Deny says that calls which match a policy are denied, and all others allowed. Without
	// it, it is the other way round.
	Deny bool
	// Policies are sorted by name.
	Policies []Policy
	// Audit is who is told of decisions.
	Audit Audit
}

// A Policy matches calls that match both of its rules.
type Policy struct {
	Name string
	// Permission is about what is called, Principal about who calls.
	Permission, Principal Rule
}

// A Rule is something that a call can match: [And], [Or], [Not], [Constant], [Header],
// [Path], [LocalAddress], [LocalPort], [RemoteAddress] or [Authenticated].
type Rule interface{ isRule() }

// And is matched if all of its rules are; it has one at least.
type And []Rule

// Or is matched if one of its rules is; it has one at least.
type Or []Rule

// Not is matched if its rule is not.
type Not struct{ Rule Rule }

// Constant is always matched, or never: by whatever is about what gRPC has not.
type Constant bool

// A Header is matched by a header of the call. Several values of one are joined by commas, a
// binary one is in its base64 form, "host" means ":authority", and headers that are for a
// connection only are not there (A41).
type Header struct{ matcher.Header }

// A Path is matched by the full name of the method, "/package.Service/Method".
type Path struct{ matcher.String }

// A LocalAddress is matched by the address that was called.
type LocalAddress struct{ netip.Prefix }

// A LocalPort is matched by the port that was called.
type LocalPort uint32

// A RemoteAddress is matched by the address of the peer.
type RemoteAddress struct{ netip.Prefix }

// Authenticated is matched by connections with TLS. With a Name, that must match a URI of
// the peer's certificate; or one of its DNS names, if there is no URI; or its subject, if
// there is neither; or the empty text, if there is no certificate.
type Authenticated struct{ Name *matcher.String }

func (And) isRule()           {}
func (Or) isRule()            {}
func (Not) isRule()           {}
func (Constant) isRule()      {}
func (Header) isRule()        {}
func (Path) isRule()          {}
func (LocalAddress) isRule()  {}
func (LocalPort) isRule()     {}
func (RemoteAddress) isRule() {}
func (Authenticated) isRule() {}
