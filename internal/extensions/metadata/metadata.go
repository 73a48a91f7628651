package metadata

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// Address returns the kind of metadata for an address, such as that of a proxy (gRFC A86).
// Its value is a [netip.AddrPort].
func Address() *resource.MetadataKind {
	return &resource.MetadataKind{
		Message: "envoy.config.core.v3.Address",
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(corev3.Address)
			if err := c.Unmarshal(m); err != nil {
				return netip.AddrPort{}, err
			}
			var v resource.Violations
			if s := m.GetSocketAddress(); s != nil {
				if _, ok := s.GetPortSpecifier().(*corev3.SocketAddress_PortValue); !ok {
					v.Add((*resource.Path)(nil).Field("socket_address.port_value"), nil, "must be set (A86)")
				}
			}
			return convert.AddrPort(resource.Path{}, m, &v), v.Err()
		},
	}
}
