package endpoint

import "iter"

// New makes an endpoint with these addresses and weight 1, for programs and tests that have
// no resource. An address has the form "host:port".
func New(addresses ...string) Endpoint { return Endpoint{addresses: addresses, Weight: 1} }

// Address is the first address, as net.Dial takes it: "10.0.0.1:443", "[::1]:443". Empty:
// there is none, which only profile Envoy accepts, for addresses of other kinds than sockets.
// It allocates nothing.
func (e *Endpoint) Address() string {
	if e == nil || len(e.addresses) == 0 {
		return ""
	}
	return e.addresses[0]
}

// Addresses are all addresses, first choice first (A61).
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
