package lbendpoint

import "iter"

// Address returns the first address in the form that net.Dial takes: "10.0.0.1:443",
// "[::1]:443". It returns "" only in profile Envoy, for addresses that are not socket
// addresses. It does not allocate.
func (u *Update) Address() string {
	if u == nil || len(u.addresses) == 0 {
		return ""
	}
	return u.addresses[0]
}

// Addresses yields all addresses, most preferred first (A61).
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
