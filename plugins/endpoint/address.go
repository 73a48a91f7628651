package endpoint

import (
	"iter"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// New returns an endpoint with the given addresses and weight 1, for programs and tests
// without a resource. An address has the form "host:port".
func New(addresses ...string) Endpoint {
	e := Endpoint{Weight: 1}
	if len(addresses) > 0 {
		e.address = addresses[0]
	}
	if len(addresses) > 1 {
		e.Details = &Details{AdditionalAddresses: addresses[1:]}
	}
	return e
}

// Address returns the first address in the form that net.Dial takes: "10.0.0.1:443",
// "[::1]:443". It returns "" only in profile Envoy, for addresses that are not socket
// addresses. It does not allocate.
func (e *Endpoint) Address() string {
	if e == nil {
		return ""
	}
	return e.address
}

// Addresses yields all addresses, most preferred first (A61). Profile Envoy leaves out
// addresses that are not socket addresses.
func (e *Endpoint) Addresses() iter.Seq[string] {
	return func(yield func(string) bool) {
		if e == nil || e.address == "" || !yield(e.address) || e.Details == nil {
			return
		}
		for _, a := range e.Details.AdditionalAddresses {
			if !yield(a) {
				return
			}
		}
	}
}

// Hostname returns the endpoint's hostname, or "" if it has none. It is the authority of
// calls with authority rewriting (A81), and the SNI of connections (A101).
func (e *Endpoint) Hostname() string {
	if e == nil || e.Details == nil {
		return ""
	}
	return e.Details.Hostname
}

// Metadata returns the endpoint's metadata by key (A83, A86), which may be nil.
func (e *Endpoint) Metadata() map[string]resource.Metadatum {
	if e == nil || e.Details == nil {
		return nil
	}
	return e.Details.Metadata
}
