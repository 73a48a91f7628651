package listener

import (
	"fmt"
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A match is one alternative of a FilterChainMatch whose lists are multiplied out (A36,
// "normalization"). The zero value matches everything.
type match struct {
	port        int64 // the port plus one; 0 means any port
	destination netip.Prefix
	serverName  string
	transport   string
	application string
	direct      netip.Prefix
	sourceType  SourceType
	source      netip.Prefix
	sourcePort  uint16
}

// rawBuffer is the transport protocol of every gRPC connection.
const rawBuffer = "raw_buffer"

// maxMatches is the limit of alternatives of one listener.
const maxMatches = 1 << 17

// usable reports whether a match can match a connection. gRPC has neither original
// destinations nor listener filters (A36). If port is not 0, only matches of this port can.
func (m *Match) usable(port uint32) bool {
	ported := m.DestinationPort == nil
	if port > 0 {
		ported = m.DestinationPort != nil && *m.DestinationPort == port
	}
	return ported && len(m.ServerNames) == 0 && len(m.ApplicationProtocols) == 0 && m.isRaw()
}

func (m *Match) isRaw() bool { return m.TransportProtocol == "" || m.TransportProtocol == rawBuffer }

// ownPort returns the port of a server of HTTP if a chain names it, and 0 otherwise. All connections have this destination port.
// As in Envoy, they match no chain without a port then. For gRPC, chains with a port match no connection (A36).
func ownPort(dc *resource.DecodeContext, address string, chains []FilterChain) uint32 {
	own, err := netip.ParseAddrPort(address)
	if dc.Types.Profile() != resource.HTTP || err != nil {
		return 0
	}
	for i := range chains {
		if p := chains[i].Match.DestinationPort; p != nil && *p == uint32(own.Port()) {
			return *p
		}
	}
	return 0
}

// unread adds the fields of a match that servers of HTTP do not evaluate. Without its chain, another one would serve the
// connections, possibly with fewer restrictions.
func (m *Match) unread(p resource.Path, v *resource.Violations) {
	const why = "must not be set (ADR 391: the TLS handshake chooses no filter chain)"
	if len(m.ServerNames) > 0 {
		v.Add(p.Field("server_names"), nil, why)
	}
	if len(m.ApplicationProtocols) > 0 {
		v.Add(p.Field("application_protocols"), nil, why)
	}
	if !m.isRaw() {
		v.Add(p.Field("transport_protocol"), m.TransportProtocol, `must be "raw_buffer" or unset (ADR 391: the TLS handshake chooses no filter chain)`)
	}
}

// newChainTable multiplies out the matches of the chains. No two chains may have the same
// alternative, even one that cannot match. At least one connection must have a chain (A36). Profile Envoy accepts both.
func newChainTable(dc *resource.DecodeContext, api *anypb.Any, address string, chains []FilterChain, otherwise *FilterChain) (*chainTable, error) {
	if len(chains) == 0 {
		return nil, nil //nolint:nilnil // no chains
	}
	var v resource.Violations
	var root *resource.Path
	t := new(chainTable)
	owner := make(map[match]int)
	port := ownPort(dc, address, chains)
	acting, found := dc.Types.Profile() != resource.Envoy, api != nil || otherwise != nil
	for i := range chains {
		element := root.Item("filter_chains", i)
		p := element.Field("filter_chain_match")
		if dc.Types.Profile() == resource.HTTP {
			chains[i].Match.unread(p, &v)
		}
		usable := chains[i].Match.usable(port)
		found = found || usable
		alternatives, ok := chains[i].Match.multiply(maxMatches - len(owner))
		if !ok {
			v.Add(p, nil, fmt.Sprintf("must not have so many alternatives; a listener has at most %d", maxMatches))
		}
		for _, m := range alternatives {
			if first, taken := owner[m]; taken && first != i {
				if acting {
					v.Add(p, m, fmt.Sprintf("must not have the same match as filter_chains[%d] (A36)", first))
				}
				continue
			}
			owner[m] = i
			if usable {
				t.add(m, i)
			}
		}
	}
	if acting && !found {
		v.Add(root.Field("filter_chains"), nil, "must have one that can match a connection, unless there is a default_filter_chain (A36)")
	}
	t.freeze()
	return t, v.Err()
}

// multiply returns the alternatives of a match, or ok = false if there are too many.
func (m *Match) multiply(most int) (alternatives []match, ok bool) {
	start := match{transport: m.TransportProtocol, sourceType: m.SourceType}
	if m.DestinationPort != nil {
		start.port = int64(*m.DestinationPort) + 1
	}
	n := 1
	for _, k := range []int{len(m.Destinations), len(m.ServerNames), len(m.ApplicationProtocols), len(m.DirectSources), len(m.Sources), len(m.SourcePorts)} {
		if n *= max(k, 1); n > most {
			return nil, false
		}
	}
	out := []match{start}
	out = times(out, m.Destinations, func(m *match, x netip.Prefix) { m.destination = x })
	out = times(out, m.ServerNames, func(m *match, x string) { m.serverName = strings.ToLower(x) })
	out = times(out, m.ApplicationProtocols, func(m *match, x string) { m.application = x })
	out = times(out, m.DirectSources, func(m *match, x netip.Prefix) { m.direct = x })
	out = times(out, m.Sources, func(m *match, x netip.Prefix) { m.source = x })
	return times(out, m.SourcePorts, func(m *match, x uint32) { m.sourcePort = uint16(x) }), true //nolint:gosec // others are violations
}

// times combines every match with every value of a list. It returns the matches unchanged
// if the list is empty.
func times[T any](matches []match, values []T, set func(*match, T)) []match {
	if len(values) == 0 {
		return matches
	}
	out := make([]match, 0, len(matches)*len(values))
	for _, m := range matches {
		for _, x := range values {
			set(&m, x)
			out = append(out, m)
		}
	}
	return out
}

// prefixes decodes CIDR ranges.
func prefixes(_ *resource.DecodeContext, list []*corev3.CidrRange) ([]netip.Prefix, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var v resource.Violations
	out := make([]netip.Prefix, 0, len(list))
	for i, r := range list {
		prefix, err := matcher.NewPrefix(r)
		if err != nil {
			v.AddError((*resource.Path)(nil).Item("", i), err)
			continue
		}
		out = append(out, prefix)
	}
	return out, v.Err()
}

// String describes the match for error messages.
func (m match) String() string {
	var parts []string
	add := func(name string, value any, set bool) {
		if set {
			parts = append(parts, fmt.Sprint(name, " ", value))
		}
	}
	add("destination port", m.port-1, m.port != 0)
	add("destination", m.destination, m.destination.IsValid())
	add("server name", m.serverName, m.serverName != "")
	add("transport protocol", m.transport, m.transport != "")
	add("application protocol", m.application, m.application != "")
	add("direct source", m.direct, m.direct.IsValid())
	add("source type", m.sourceType, m.sourceType != 0)
	add("source", m.source, m.source.IsValid())
	add("source port", m.sourcePort, m.sourcePort != 0)
	if parts == nil {
		return "any connection"
	}
	return strings.Join(parts, ", ")
}
