package matcher

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// NewPrefix makes a prefix of a CidrRange, normalized as gRFC A36 says: the length
// is brought into the range of the address family, an absent length is 0, and
// unused bits are cleared. An IPv4 address that is written as an IPv6 one stays an
// IPv6 one.
func NewPrefix(r *corev3.CidrRange) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(r.GetAddressPrefix())
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, violation((*resource.Path)(nil).Field("address_prefix"), r.GetAddressPrefix(), "must be an IP address")
	}
	bits := min(r.GetPrefixLen().GetValue(), uint32(addr.BitLen())) //nolint:gosec // 32 or 128
	return addr.Prefix(int(bits))
}
