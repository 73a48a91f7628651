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

// usable reports whether a match can match a gRPC connection. gRPC has neither original
// destinations nor listener filters (A36).
func (m *Match) usable() bool {
	return m.DestinationPort == nil && len(m.ServerNames) == 0 && len(m.ApplicationProtocols) == 0 &&
		(m.TransportProtocol == "" || m.TransportProtocol == rawBuffer)
}

// newChainTable multiplies out the matches of the chains. No two chains may have the same
// alternative, even one that cannot match. At least one connection must have a chain (A36). Profile Envoy accepts both.
func newChainTable(dc *resource.DecodeContext, api *anypb.Any, chains []FilterChain, otherwise *FilterChain) (*chainTable, error) {
	if len(chains) == 0 {
		return nil, nil //nolint:nilnil // no chains
	}
	var v resource.Violations
	var root *resource.Path
	t := new(chainTable)
	owner := make(map[match]int)
	acting, found := dc.Types.Profile() != resource.Envoy, api != nil || otherwise != nil
	for i := range chains {
		element := root.Item("filter_chains", i)
		p := element.Field("filter_chain_match")
		usable := chains[i].Match.usable()
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
