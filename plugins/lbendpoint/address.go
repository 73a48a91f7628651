package lbendpoint

import "iter"

// Address is the first address, as net.Dial takes it: "10.0.0.1:443", "[::1]:443". Empty:
// there is none, which only profile Envoy accepts, for addresses of other kinds than sockets.
// It allocates nothing.
func (u *Update) Address() string {
	if u == nil || len(u.addresses) == 0 {
		return ""
	}
	return u.addresses[0]
}

// Addresses are all addresses, first choice first (A61).
func (u *Update) Addresses() iter.Seq[string] {
	return func(yield func(string) bool) { // simple enough for the compiler to inline
		if u == nil {
			return
		}
		for _, a := range u.addresses {
			if !yield(a) {
				return
			}
		}
	}
}
