package convert

import (
	"net/netip"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

const million = 1_000_000

// PerMillion is a fraction in parts of a million. More than everything is
// everything; an unknown denominator is a violation.
func PerMillion(p resource.Path, f *typev3.FractionalPercent, v *resource.Violations) uint32 {
	if f == nil {
		return 0
	}
	var scale uint64
	switch f.GetDenominator() {
	case typev3.FractionalPercent_HUNDRED:
		scale = million / 100
	case typev3.FractionalPercent_TEN_THOUSAND:
		scale = million / 10_000
	case typev3.FractionalPercent_MILLION:
		scale = 1
	default:
		v.Add(p.Field("denominator"), f.GetDenominator(), "must be one of HUNDRED, TEN_THOUSAND, MILLION")
		return 0
	}
	return uint32(min(uint64(f.GetNumerator())*scale, million))
}

// HostPort is the host and port of a socket address, as net.Dial takes them.
// The host may be an IP address or a name: clients in use accept any. An
// address of another kind, a port by name, and a port above 65535 are
// violations.
func HostPort(p resource.Path, a *corev3.Address, v *resource.Violations) string {
	if a == nil {
		return ""
	}
	host, port, ok := socket(p, a, v)
	if !ok {
		return ""
	}
	return join(host, port)
}

// join is net.JoinHostPort with one allocation.
func join(host string, port uint16) string {
	var buf [64]byte
	b := buf[:0]
	if strings.ContainsAny(host, ":%") {
		b = append(append(append(b, '['), host...), ']')
	} else {
		b = append(b, host...)
	}
	return string(strconv.AppendUint(append(b, ':'), uint64(port), 10))
}

// AddrPort is the IP address and port of a socket address. Beside what is a
// violation to [HostPort], a host that is no IP address is one.
func AddrPort(p resource.Path, a *corev3.Address, v *resource.Violations) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	host, port, ok := socket(p, a, v)
	if !ok {
		return netip.AddrPort{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		v.Add(p.Field("socket_address.address"), host, "must be an IP address")
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, port)
}

func socket(p resource.Path, a *corev3.Address, v *resource.Violations) (host string, port uint16, ok bool) {
	s := a.GetSocketAddress()
	if s == nil {
		v.Add(p, nil, "must have a socket_address")
		return "", 0, false
	}
	if _, named := s.GetPortSpecifier().(*corev3.SocketAddress_NamedPort); named {
		v.Add(p.Field("socket_address.named_port"), s.GetNamedPort(), "must not be set; a port is a number")
		return "", 0, false
	}
	if s.GetPortValue() > 65535 {
		v.Add(p.Field("socket_address.port_value"), s.GetPortValue(), "must be at most 65535")
		return "", 0, false
	}
	return s.GetAddress(), uint16(s.GetPortValue()), true //nolint:gosec // at most 65535
}
