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

// A Fraction is a FractionalPercent or a view of one.
type Fraction interface {
	comparable
	GetNumerator() uint32
	GetDenominator() typev3.FractionalPercent_DenominatorType
}

// PerMillion is a fraction in parts of a million. More than everything is
// everything; an unknown denominator is a violation.
func PerMillion[F Fraction](p resource.Path, f F, v *resource.Violations) uint32 {
	var none F
	if f == none {
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
	host, port, ok := socket(p, socketOf(a), v)
	if !ok {
		return ""
	}
	var buf [64]byte
	return string(join(buf[:0], host, port))
}

// join appends what net.JoinHostPort returns.
func join(b []byte, host string, port uint16) []byte {
	if strings.IndexByte(host, ':') >= 0 || strings.IndexByte(host, '%') >= 0 {
		b = append(append(append(b, '['), host...), ']')
	} else {
		b = append(b, host...)
	}
	return strconv.AppendUint(append(b, ':'), uint64(port), 10)
}

// AddrPort is the IP address and port of a socket address. Beside what is a
// violation to [HostPort], a host that is no IP address is one.
func AddrPort(p resource.Path, a *corev3.Address, v *resource.Violations) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	return addrPort(p, socketOf(a), v)
}

func addrPort(p resource.Path, s Socket, v *resource.Violations) netip.AddrPort {
	host, port, ok := socket(p, s, v)
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

// A Socket is what is read of a SocketAddress.
type Socket struct {
	NoAddress bool // there is no Address that could have one
	Present   bool // there is one
	Address   string
	Port      uint32
	Named     bool // there is a named port
	NamedPort string
}

func socketOf(a *corev3.Address) Socket {
	s := a.GetSocketAddress()
	_, named := s.GetPortSpecifier().(*corev3.SocketAddress_NamedPort)
	return Socket{Present: s != nil, Address: s.GetAddress(), Port: s.GetPortValue(), Named: named, NamedPort: s.GetNamedPort()}
}

func socket(p resource.Path, s Socket, v *resource.Violations) (host string, port uint16, ok bool) {
	switch {
	case !s.Present:
		v.Add(p, nil, "must have a socket_address")
	case s.Named:
		v.Add(p.Field("socket_address.named_port"), s.NamedPort, "must not be set; a port is a number")
	case s.Port > 65535:
		v.Add(p.Field("socket_address.port_value"), s.Port, "must be at most 65535")
	default:
		return s.Address, uint16(s.Port), true
	}
	return "", 0, false
}
