package lbendpoint

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// finishAddresses removes the empty strings that represent other kinds of addresses in
// profile Envoy.
func finishAddresses(dc *resource.DecodeContext, u *Update, _ *resource.Violations) {
	if dc.Types.Profile() == resource.Envoy {
		u.addresses = slices.DeleteFunc(u.addresses, func(a string) bool { return a == "" })
	}
}
