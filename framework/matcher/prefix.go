package matcher

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// NewPrefix converts a CidrRange to a prefix and normalizes it by gRFC A36. It limits the length to
// the range of the address family, reads an absent length as 0, and clears unused bits. An IPv4
// address in IPv6 notation stays an IPv6 address.
func NewPrefix(r *corev3.CidrRange) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(r.GetAddressPrefix())
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, violation((*resource.Path)(nil).Field("address_prefix"), r.GetAddressPrefix(), "must be an IP address")
	}
	bits := min(r.GetPrefixLen().GetValue(), uint32(addr.BitLen())) //nolint:gosec // 32 or 128
	return addr.Prefix(int(bits))
}
