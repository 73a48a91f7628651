package convert

import (
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

const million = 1_000_000

// A Fraction is a FractionalPercent or a view of one.
type Fraction interface {
	comparable
	GetNumerator() uint32
	GetDenominator() typev3.FractionalPercent_DenominatorType
}

// PerMillion returns a fraction in parts of a million. A fraction above one counts as one. An
// unknown denominator is a violation.
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

// HostPort returns the host and port of a socket address in the form of net.Dial. The host may be
// an IP address or a name, not an empty one, and without brackets: existing clients accept any other. A named port and a port above 65535 are
// violations. So is an address of another kind, except in profile Envoy, where the result is "".
func HostPort(dc *resource.DecodeContext, p resource.Path, a *corev3.Address, v *resource.Violations) string {
	if a == nil {
		return ""
	}
	s := socketOf(a)
	if !s.valid() {
		s.rejectUnlessOther(dc, p, v)
		return ""
	}
	var buf [64]byte
	return string(join(buf[:0], s.Text, s.Port))
}

// join appends the result of net.JoinHostPort.
func join(b []byte, host string, port uint32) []byte {
	if isIPv6(host) {
		b = append(append(append(b, '['), host...), ']')
	} else {
		b = append(b, host...)
	}
	return appendPort(append(b, ':'), port)
}

// isIPv6 reports whether a host is written in brackets before a port.
func isIPv6(host string) bool { return strings.IndexByte(host, ':') >= 0 }

// appendPort appends a valid port in decimal. Ports have four or five digits, and strconv is made
// for fewer or more. This saves 3 % of decoding a large assignment.
func appendPort(b []byte, port uint32) []byte {
	if port >= 10000 {
		b = append(b, byte('0'+port/10000)) //nolint:gosec // at most 6
	}
	if port >= 1000 {
		b = append(b, byte('0'+port/1000%10))
	}
	if port >= 100 {
		b = append(b, byte('0'+port/100%10))
	}
	if port >= 10 {
		b = append(b, byte('0'+port/10%10))
	}
	return append(b, byte('0'+port%10))
}

// AddrPort returns the IP address and port of a socket address. In addition to the violations of
// [HostPort], a host that is not an IP address is one.
func AddrPort(p resource.Path, a *corev3.Address, v *resource.Violations) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	return addrPort(p, socketOf(a), v)
}

func addrPort(p resource.Path, s Socket, v *resource.Violations) netip.AddrPort {
	if !s.valid() {
		s.reject(p, v)
		return netip.AddrPort{}
	}
	ip, err := netip.ParseAddr(s.Text)
	if err != nil {
		v.Add(p.Field("socket_address.address"), s.Text, "must be an IP address")
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, uint16(s.Port)) //nolint:gosec // it is valid
}

// A Socket holds the fields of an Address that are read.
type Socket struct {
	Kind SocketKind
	Text string // the address, or the name of the port
	Port uint32
}

// SocketKind is the kind of an Address.
type SocketKind uint8

// The kinds.
const (
	NoAddress   SocketKind = iota // there is none
	OtherSocket                   // an address without host and port
	NamedPort                     // an address with a named port
	HostAndPort                   // an address with a host and a port number
)

func socketOf(a *corev3.Address) Socket {
	s := a.GetSocketAddress()
	if s == nil {
		return Socket{Kind: OtherSocket}
	}
	if named, ok := s.GetPortSpecifier().(*corev3.SocketAddress_NamedPort); ok {
		return Socket{Kind: NamedPort, Text: named.NamedPort}
	}
	return Socket{Kind: HostAndPort, Text: s.GetAddress(), Port: s.GetPortValue()}
}

// valid reports whether the socket can be used.
func (s Socket) valid() bool { return s.Kind == HostAndPort && s.Port <= 65535 && s.named() }

// named reports whether the socket has a host. Brackets belong to the form with a port, and are no part of an address.
func (s Socket) named() bool {
	return s.Text != "" && s.Text[0] != '[' && s.Text[len(s.Text)-1] != ']'
}

// rejectUnlessOther is reject, but accepts addresses that are not sockets in profile Envoy: Envoy
// connects to pipes and to its internal listeners.
func (s Socket) rejectUnlessOther(dc *resource.DecodeContext, p resource.Path, v *resource.Violations) {
	if s.Kind != OtherSocket || dc.Types.Profile() != resource.Envoy {
		s.reject(p, v)
	}
}

// reject records why a socket cannot be used.
func (s Socket) reject(p resource.Path, v *resource.Violations) {
	switch s.Kind {
	case NoAddress:
	case OtherSocket:
		v.Add(p, nil, "must have a socket_address")
	case NamedPort:
		v.Add(p.Field("socket_address.named_port"), s.Text, "must not be set; a port is a number")
	default:
		if !s.named() {
			v.Add(p.Field("socket_address.address"), s.Text, "must be an IP address or a name, without brackets")
		}
		if s.Port > 65535 {
			v.Add(p.Field("socket_address.port_value"), s.Port, "must be at most 65535")
		}
	}
}

// Header converts m to a matcher. An invalid m is a violation.
func Header(dc *resource.DecodeContext, p resource.Path, m *routev3.HeaderMatcher, v *resource.Violations) matcher.Header {
	return ViewHeader(dc, p, matcher.PartsOfHeader(m), v)
}

// ViewHeader is [Header] of a view.
func ViewHeader(dc *resource.DecodeContext, p resource.Path, m matcher.HeaderParts, v *resource.Violations) matcher.Header {
	h, err := m.Header(dc)
	if err != nil {
		v.AddError(p, err)
	}
	return h
}
