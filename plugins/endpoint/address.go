package endpoint

import "iter"

// New returns an endpoint with the given addresses and weight 1, for programs and tests
// without a resource. An address has the form "host:port".
func New(addresses ...string) Endpoint { return Endpoint{addresses: addresses, Weight: 1} }

// Address returns the first address in the form that net.Dial takes: "10.0.0.1:443",
// "[::1]:443". It returns "" only in profile Envoy, for addresses that are not socket
// addresses. It does not allocate.
func (e *Endpoint) Address() string {
	if e == nil || len(e.addresses) == 0 {
		return ""
	}
	return e.addresses[0]
}

// Addresses yields all addresses, most preferred first (A61).
func (e *Endpoint) Addresses() iter.Seq[string] {
	return func(yield func(string) bool) { // simple enough for the compiler to inline
		if e == nil {
			return
		}
		for _, a := range e.addresses {
			if !yield(a) {
				return
			}
		}
	}
}
