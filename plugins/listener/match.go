package listener

import (
	"fmt"
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/matcher"
)

// A match is one of the alternatives that a FilterChainMatch is, when its lists are
// multiplied out (A36, "normalization"). The zero value matches everything.
type match struct {
	port        int64 // plus one, so that 0 is any
	destination netip.Prefix
	serverName  string
	transport   string
	application string
	direct      netip.Prefix
	sourceType  sourceType
	source      netip.Prefix
	sourcePort  uint16
}

// A sourceType is where connections come from.
type sourceType = listenerv3.FilterChainMatch_ConnectionSourceType

const (
	sourceLocal    = listenerv3.FilterChainMatch_SAME_IP_OR_LOOPBACK
	sourceExternal = listenerv3.FilterChainMatch_EXTERNAL
)

// rawBuffer is the transport protocol of every connection that gRPC has to do with.
const rawBuffer = "raw_buffer"

// maxMatches bounds the alternatives of one listener.
const maxMatches = 1 << 17

// canMatch reports whether a match can match a connection of gRPC, which has neither
// original destinations nor listener filters (A36).
func canMatch(m *listenerv3.FilterChainMatch) bool {
	return m.GetDestinationPort() == nil && len(m.GetServerNames()) == 0 && len(m.GetApplicationProtocols()) == 0 &&
		(m.GetTransportProtocol() == "" || m.GetTransportProtocol() == rawBuffer)
}

// newChainTable multiplies the matches of the chains out. No two chains may have the
// same alternative, even if it cannot match (A36).
func newChainTable(dc *resource.DecodeContext, chains []*listenerv3.FilterChain) (*ChainTable, error) {
	var v resource.Violations
	t := new(ChainTable)
	owner := make(map[match]int)
	for i, c := range chains {
		element := (*resource.Path)(nil).Item("", i)
		p := element.Field("filter_chain_match")
		alternatives := multiply(&p, c.GetFilterChainMatch(), maxMatches-len(owner), &v)
		usable := canMatch(c.GetFilterChainMatch())
		for _, m := range alternatives {
			if first, taken := owner[m]; taken && first != i {
				if dc.Types.Profile() == resource.GRPC {
					v.Add(p, m, fmt.Sprintf("must not match what filter_chains[%d] matches (A36)", first))
				}
				continue
			}
			owner[m] = i
			if usable {
				t.add(m, i)
			}
		}
	}
	t.freeze()
	return t, v.Err()
}

// multiply makes the alternatives of a match, unless there are too many.
func multiply(p *resource.Path, m *listenerv3.FilterChainMatch, most int, v *resource.Violations) []match {
	start := match{transport: m.GetTransportProtocol(), sourceType: m.GetSourceType()}
	if m.GetDestinationPort() != nil {
		start.port = int64(m.GetDestinationPort().GetValue()) + 1
	}
	destinations := prefixList(p, "prefix_ranges", m.GetPrefixRanges(), v)
	directs := prefixList(p, "direct_source_prefix_ranges", m.GetDirectSourcePrefixRanges(), v)
	sources := prefixList(p, "source_prefix_ranges", m.GetSourcePrefixRanges(), v)
	for i, port := range m.GetSourcePorts() {
		if port == 0 || port > 65535 {
			v.Add(p.Item("source_ports", i), port, "must be between 1 and 65535")
		}
	}
	n := 1
	for _, k := range []int{len(destinations), len(m.GetServerNames()), len(m.GetApplicationProtocols()), len(directs), len(sources), len(m.GetSourcePorts())} {
		if n *= max(k, 1); n > most {
			v.Add(*p, nil, fmt.Sprintf("must not have so many alternatives; a listener has at most %d", maxMatches))
			return nil
		}
	}
	out := []match{start}
	out = times(out, destinations, func(m *match, x netip.Prefix) { m.destination = x })
	out = times(out, m.GetServerNames(), func(m *match, x string) { m.serverName = strings.ToLower(x) })
	out = times(out, m.GetApplicationProtocols(), func(m *match, x string) { m.application = x })
	out = times(out, directs, func(m *match, x netip.Prefix) { m.direct = x })
	out = times(out, sources, func(m *match, x netip.Prefix) { m.source = x })
	return times(out, m.GetSourcePorts(), func(m *match, x uint32) { m.sourcePort = uint16(x) }) //nolint:gosec // others are violations
}

// times combines every match with every value of a list, if it has any.
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

func prefixList(p *resource.Path, field string, list []*corev3.CidrRange, v *resource.Violations) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for i, r := range list {
		prefix, err := matcher.NewPrefix(r)
		if err != nil {
			v.AddError(p.Item(field, i), err)
			continue
		}
		out = append(out, prefix)
	}
	return out
}

// String says what is matched, for people.
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
