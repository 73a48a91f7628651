package lbendpoint

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// finishAddresses removes the empty strings that represent other kinds of addresses in
// profile Envoy.
func finishAddresses(dc *resource.DecodeContext, u *Update, _ *resource.Violations) {
	if dc.Types.Profile() == resource.Envoy {
		u.addresses = slices.DeleteFunc(u.addresses, func(a string) bool { return a == "" })
	}
}

// metadata decodes the metadata of an endpoint (A83, A86).
func metadata(dc *resource.DecodeContext, m *corev3.Metadata) (map[string]resource.Metadatum, error) {
	return dc.Metadata(m)
}
