package listener_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

const managerFilter = `filters { name: "m" typed_config { ` + managerAny + ` { rds { route_config_name: "r" config_source { ads { } } } ` + routerText + ` } } } `

// chains returns a listener. The arguments alternate between the name of a chain and its match.
func chains(matches ...string) string {
	var b strings.Builder
	b.WriteString(address + `default_filter_chain { name: "default" ` + managerFilter + `} `)
	for i := 0; i < len(matches); i += 2 {
		fmt.Fprintf(&b, `filter_chains { name: %q filter_chain_match { %s } %s } `, matches[i], matches[i+1], managerFilter)
	}
	return b.String()
}

func conn(local, remote string) listener.Conn {
	return listener.Conn{Local: netip.MustParseAddrPort(local), Remote: netip.MustParseAddrPort(remote)}
}

// A program may remove filter chains from its copy of an update. Connections to those get the default.
func TestFilterChainAfterChainsAreRemoved(t *testing.T) {
	u := *decode(t, chains(
		"first", `prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } }`,
		"last", `prefix_ranges { address_prefix: "11.0.0.0" prefix_len { value: 8 } }`,
	))
	for _, left := range []int{2, 1, 0} {
		u.FilterChains = u.FilterChains[:left]
		for i, local := range []string{"10.0.0.1:80", "11.0.0.1:80"} {
			want := "default"
			if i < left {
				want = u.FilterChains[i].Name
			}
			if got := u.FilterChain(conn(local, "1.1.1.1:1")); got == nil || got.Name != want {
				t.Errorf("with %d chains, a connection to %s gets %+v; want the chain %s", left, local, got, want)
			}
		}
	}
}

func TestFilterChain(t *testing.T) {
	u := decode(t, chains(
		"any", ``,
		"four", `prefix_ranges { address_prefix: "0.0.0.0" }`,
		"ten", `prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } }`,
		"ten raw", `prefix_ranges { address_prefix: "10.1.0.0" prefix_len { value: 16 } } transport_protocol: "raw_buffer" source_type: EXTERNAL`,
		"ten not raw", `prefix_ranges { address_prefix: "10.1.0.0" prefix_len { value: 16 } }`,
		"never", `prefix_ranges { address_prefix: "10.2.0.0" prefix_len { value: 16 } } server_names: "a"`,
		"local", `prefix_ranges { address_prefix: "10.3.0.0" prefix_len { value: 16 } } source_type: SAME_IP_OR_LOOPBACK`,
		"outside", `prefix_ranges { address_prefix: "10.3.0.0" prefix_len { value: 16 } } source_type: EXTERNAL source_ports: 7 source_ports: 8`,
		"sources", `prefix_ranges { address_prefix: "10.4.0.0" prefix_len { value: 16 } } source_prefix_ranges { address_prefix: "192.168.0.0" prefix_len { value: 16 } }`,
		"port", `prefix_ranges { address_prefix: "10.4.0.0" prefix_len { value: 16 } } source_prefix_ranges { address_prefix: "192.168.0.0" prefix_len { value: 16 } } source_ports: 9`,
		"nearer", `prefix_ranges { address_prefix: "10.4.0.0" prefix_len { value: 16 } } source_prefix_ranges { address_prefix: "192.168.1.0" prefix_len { value: 24 } } source_ports: 9`,
		"direct", `prefix_ranges { address_prefix: "10.5.0.0" prefix_len { value: 16 } } direct_source_prefix_ranges { address_prefix: "192.168.0.0" prefix_len { value: 16 } }`,
		"never raw", `prefix_ranges { address_prefix: "10.6.0.0" prefix_len { value: 16 } } transport_protocol: "raw_buffer" application_protocols: "h2"`,
		"without a protocol", `prefix_ranges { address_prefix: "10.6.0.0" prefix_len { value: 16 } }`,
		"last of four", `prefix_ranges { address_prefix: "255.255.255.255" prefix_len { value: 32 } }`,
		"six", `prefix_ranges { address_prefix: "fe80::" prefix_len { value: 10 } }`,
	))
	for _, test := range []struct{ local, remote, want string }{
		{"11.0.0.1:80", "1.1.1.1:1", "four"},
		{"10.0.0.1:80", "1.1.1.1:1", "ten"},
		{"10.2.0.1:80", "1.1.1.1:1", "ten"}, // the chain for 10.2.0.0 never matches and is ignored
		{"10.1.0.1:80", "1.1.1.1:1", "ten raw"},
		{"10.1.0.1:80", "127.0.0.1:1", "default"}, // raw_buffer is more specific than no protocol, and decides before the source
		{"10.3.0.1:80", "10.3.0.1:1", "local"},
		{"10.3.0.1:80", "127.0.0.9:7", "local"},
		{"10.3.0.1:80", "1.1.1.1:8", "outside"},
		{"10.3.0.1:80", "1.1.1.1:9", "default"},
		{"10.4.0.1:80", "192.168.9.9:9", "port"},
		{"10.4.0.1:80", "192.168.9.9:8", "sources"},
		{"10.4.0.1:80", "192.168.1.9:9", "nearer"},
		{"10.4.0.1:80", "192.168.1.9:8", "default"}, // the choice by source prefix is final, even if no port matches
		{"10.4.0.1:80", "1.1.1.1:9", "default"},
		{"10.5.0.1:80", "192.168.1.1:9", "direct"},
		{"10.5.0.1:80", "1.1.1.1:9", "default"},
		{"10.6.0.1:80", "1.1.1.1:9", "without a protocol"}, // a chain that never matches hides no other by its protocol
		{"255.255.255.255:80", "1.1.1.1:9", "last of four"},
		{"255.255.255.254:80", "1.1.1.1:9", "four"},
		{"[::ffff:10.0.0.1]:80", "1.1.1.1:1", "ten"},
		{"[::]:80", "1.1.1.1:1", "any"},
		{"[fe80::1]:80", "[::1]:1", "six"},
		{"[ffff::1]:80", "[::2]:1", "any"},
	} {
		if got := u.FilterChain(conn(test.local, test.remote)); got == nil || got.Name != test.want {
			t.Errorf("%s from %s: %+v; want %s", test.local, test.remote, got, test.want)
		}
	}
	if got := u.FilterChain(listener.Conn{}); got.Name != "any" {
		t.Errorf("a connection without addresses has the chain %q", got.Name)
	}
}

// TestMatch checks the exported fields of a chain's match.
func TestMatch(t *testing.T) {
	u := decode(t, chains("one", `destination_port { value: 80 } prefix_ranges { address_prefix: "10.1.2.3" prefix_len { value: 8 } }
		server_names: "a.example" transport_protocol: "tls" application_protocols: "h2" direct_source_prefix_ranges { address_prefix: "::1" prefix_len { value: 128 } }
		source_type: EXTERNAL source_prefix_ranges { address_prefix: "192.168.0.0" prefix_len { value: 16 } } source_ports: [7, 8]`, "any", ``))
	prefix := func(s string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(s)} }
	want := listener.Match{
		DestinationPort: new(uint32(80)), Destinations: prefix("10.0.0.0/8"), ServerNames: []string{"a.example"}, TransportProtocol: "tls",
		ApplicationProtocols: []string{"h2"}, DirectSources: prefix("::1/128"), SourceType: listener.SourceTypeExternal,
		Sources: prefix("192.168.0.0/16"), SourcePorts: []uint32{7, 8},
	}
	if got := u.FilterChains[0].Match; !got.Equal(want) {
		t.Errorf("match = %+v; want %+v", got, want)
	}
	if got := u.FilterChains[1].Match; !got.Equal(listener.Match{}) {
		t.Errorf("match of a chain without criteria = %+v; want the zero value", got)
	}
}

// Without chains, a connection gets the default chain, or none.
func TestNoChains(t *testing.T) {
	c := conn("10.0.0.1:80", "1.1.1.1:1")
	if got := decode(t, chains()).FilterChain(c); got == nil || got.Name != "default" {
		t.Errorf("chain = %+v; want the default chain", got)
	}
	if got := new(listener.Update).FilterChain(c); got != nil {
		t.Errorf("chain = %+v; want nil", got)
	}
}

func TestConnOf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := listener.ConnOf(c)
	if got.Remote.String() != l.Addr().String() || got.Local.String() != c.LocalAddr().String() {
		t.Errorf("ConnOf = %v; want the addresses of the connection", got)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if got := listener.ConnOf(a); got != (listener.Conn{}) {
		t.Errorf("ConnOf(pipe) = %v; want no addresses", got)
	}
}

// random returns a listener whose chains match few addresses, so that many overlap.
func random(rnd *rand.Rand, n int) *listenerv3.Listener {
	cidr := func() *corev3.CidrRange {
		if rnd.IntN(4) == 0 {
			return &corev3.CidrRange{AddressPrefix: fmt.Sprintf("%x::", rnd.IntN(4)<<14), PrefixLen: wrapperspb.UInt32(rnd.Uint32N(18))}
		}
		return &corev3.CidrRange{AddressPrefix: fmt.Sprintf("%d.%d.0.0", rnd.IntN(4)<<6, rnd.IntN(2)<<7), PrefixLen: wrapperspb.UInt32(rnd.Uint32N(11))}
	}
	l := new(listenerv3.Listener)
	for i := range n {
		m := &listenerv3.FilterChainMatch{SourceType: listenerv3.FilterChainMatch_ConnectionSourceType(rnd.IntN(3))}
		for range rnd.IntN(3) {
			m.PrefixRanges = append(m.PrefixRanges, cidr())
		}
		for range rnd.IntN(3) {
			m.SourcePrefixRanges = append(m.SourcePrefixRanges, cidr())
		}
		for range rnd.IntN(3) {
			m.SourcePorts = append(m.SourcePorts, 1+rnd.Uint32N(3))
		}
		switch rnd.IntN(8) {
		case 0:
			m.TransportProtocol = "raw_buffer"
		case 1:
			m.ServerNames = []string{"a"}
		case 2:
			m.DestinationPort = wrapperspb.UInt32(1)
		case 3:
			m.DirectSourcePrefixRanges = append(m.DirectSourcePrefixRanges, cidr())
		case 4:
			m.TransportProtocol = "raw_buffer"
			m.DirectSourcePrefixRanges = append(m.DirectSourcePrefixRanges, cidr())
		}
		l.FilterChains = append(l.FilterChains, &listenerv3.FilterChain{Name: fmt.Sprint(i), FilterChainMatch: m})
	}
	return l
}

// bruteForce finds a chain by narrowing the list down, one criterion after the other. After each
// criterion it keeps the most specific matches.
func bruteForce(l *listenerv3.Listener, c listener.Conn) string {
	left := slices.Clone(l.GetFilterChains())
	narrow := func(score func(*listenerv3.FilterChainMatch) int) { // -1: does not match
		best := -1
		for _, f := range left {
			best = max(best, score(f.GetFilterChainMatch()))
		}
		left = slices.DeleteFunc(left, func(f *listenerv3.FilterChain) bool { s := score(f.GetFilterChainMatch()); return s < 0 || s < best })
	}
	narrow(func(m *listenerv3.FilterChainMatch) int {
		if m.GetDestinationPort() != nil || m.GetServerNames() != nil {
			return -1
		}
		return 0
	})
	narrow(func(m *listenerv3.FilterChainMatch) int { return prefixScore(m.GetPrefixRanges(), c.Local.Addr()) })
	narrow(func(m *listenerv3.FilterChainMatch) int { return len(m.GetTransportProtocol()) })
	narrow(func(m *listenerv3.FilterChainMatch) int {
		return prefixScore(m.GetDirectSourcePrefixRanges(), c.Remote.Addr())
	})
	narrow(func(m *listenerv3.FilterChainMatch) int {
		local := c.Local.Addr() == c.Remote.Addr() || c.Remote.Addr().IsLoopback()
		switch m.GetSourceType() {
		case listenerv3.FilterChainMatch_ANY:
			return 0
		case listenerv3.FilterChainMatch_EXTERNAL:
			local = !local
		case listenerv3.FilterChainMatch_SAME_IP_OR_LOOPBACK:
		}
		if local {
			return 1
		}
		return -1
	})
	narrow(func(m *listenerv3.FilterChainMatch) int {
		return prefixScore(m.GetSourcePrefixRanges(), c.Remote.Addr())
	})
	narrow(func(m *listenerv3.FilterChainMatch) int {
		switch {
		case m.GetSourcePorts() == nil:
			return 0
		case slices.Contains(m.GetSourcePorts(), uint32(c.Remote.Port())):
			return 1
		}
		return -1
	})
	if len(left) == 0 {
		return ""
	}
	return left[0].GetName()
}

// prefixScore returns one more than the length of the longest matching prefix, or 0 if there are no
// prefixes.
func prefixScore(list []*corev3.CidrRange, a netip.Addr) int {
	if len(list) == 0 {
		return 0
	}
	best := -1
	for _, r := range list {
		p := netip.PrefixFrom(netip.MustParseAddr(r.GetAddressPrefix()), int(r.GetPrefixLen().GetValue()))
		if p.Contains(a) {
			best = max(best, 1+p.Bits())
		}
	}
	return best
}

// FilterChain finds the same chain as a search through all chains.
func TestFilterChainAgreesWithBruteForce(t *testing.T) {
	manager := new(listenerv3.FilterChain)
	if err := prototext.Unmarshal([]byte(managerFilter), manager); err != nil {
		t.Fatal(err)
	}
	dc := plugincase.Context(t)
	found, valid := 0, 0
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		l := random(rnd, 1+rnd.IntN(12))
		l.Name, l.Address = "l", &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: "::", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 1}}}}
		for _, f := range l.GetFilterChains() {
			f.Filters = manager.GetFilters()
		}
		body, err := proto.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		u, err := plugincase.DecodeBytes(dc, listener.Type(), body)
		if err != nil {
			continue // two chains with the same match
		}
		valid++
		for range 50 {
			c := listener.Conn{Local: randomEnd(rnd), Remote: randomEnd(rnd)}
			if rnd.IntN(8) == 0 {
				c.Remote = netip.AddrPortFrom(c.Local.Addr(), c.Remote.Port())
			}
			want, got := bruteForce(l, c), ""
			if chain := u.(*listener.Update).FilterChain(c); chain != nil {
				got = chain.Name
			}
			if got != want {
				t.Fatalf("seed %d: %v gets chain %q; a search finds %q in %v", seed, c, got, want, l)
			}
			found += cmp.Compare(got, "")
		}
	}
	if valid < 500 || found < 5000 {
		t.Errorf("%d valid listeners and %d connections with a chain; want more", valid, found)
	}
}

func randomEnd(rnd *rand.Rand) netip.AddrPort {
	var a netip.Addr
	switch rnd.IntN(8) {
	case 0:
		a = netip.MustParseAddr("127.0.0.1")
	case 1, 2:
		a = netip.MustParseAddr(fmt.Sprintf("%x::%d", rnd.IntN(1<<16), rnd.IntN(3)))
	default:
		a = netip.AddrFrom4([4]byte{byte(rnd.IntN(4) << 6), byte(rnd.IntN(256)), 0, byte(rnd.IntN(2))})
	}
	return netip.AddrPortFrom(a, uint16(1+rnd.IntN(4)))
}

// The decoder rejects a listener with too many alternatives before it creates them.
func TestTooManyAlternatives(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `prefix_ranges { address_prefix: "10.%d.%d.0" prefix_len { value: 24 } } source_ports: %d `, i/256, i%256, 1+i)
	}
	m := new(listenerv3.Listener)
	if err := prototext.Unmarshal([]byte(`name: "l" `+chains("few", `source_ports: 1`, "many", b.String())), m); err != nil {
		t.Fatal(err)
	}
	_, err := plugincase.Decode(t, listener.Type(), m)
	want := []string{"filter_chains[1].filter_chain_match; must not have so many alternatives; a listener has at most 131072"}
	if got := plugincase.Verdict(err); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

// All chains of a listener share the limit of alternatives. A listener may reach it.
func TestChainsShareTheLimitOfAlternatives(t *testing.T) {
	var b strings.Builder
	for i := range 512 {
		fmt.Fprintf(&b, `prefix_ranges { address_prefix: "10.%d.%d.0" prefix_len { value: 24 } } `, i/256, i%256)
	}
	for i := range (1 << 17) / 512 {
		fmt.Fprintf(&b, `source_ports: %d `, 1+i)
	}
	m := new(listenerv3.Listener)
	if err := prototext.Unmarshal([]byte(`name: "l" `+chains("all", b.String(), "one more", `source_ports: 1000`)), m); err != nil {
		t.Fatal(err)
	}
	_, err := plugincase.Decode(t, listener.Type(), m)
	want := []string{"filter_chains[1].filter_chain_match; must not have so many alternatives; a listener has at most 131072"}
	if got := plugincase.Verdict(err); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestChainWithoutFiltersHasNoManager(t *testing.T) {
	if m := new(listener.FilterChain).Manager(); m != nil {
		t.Errorf("Manager of a chain without filters = %v; want nil", m)
	}
}

// mixed encodes a listener of n chains for prefixes of all lengths.
func mixed(tb testing.TB, n int) *listener.Update {
	tb.Helper()
	matches := make([]string, 0, 2*n)
	for i := range n {
		matches = append(matches, fmt.Sprint(i), fmt.Sprintf(`prefix_ranges { address_prefix: "10.%d.%d.0" prefix_len { value: %d } } source_ports: %d`, i/256, i%256, 12+i%20, 1+i))
	}
	return decode(tb, chains(matches...))
}

func TestFilterChainAllocatesNothing(t *testing.T) {
	u := mixed(t, 100)
	c := conn("10.0.99.0:80", "1.1.1.1:100")
	if n := testing.AllocsPerRun(100, func() {
		if u.FilterChain(c).Name != "99" {
			t.Error("FilterChain returned the wrong chain")
		}
	}); n > 0 {
		t.Errorf("FilterChain allocates %v times; want 0", n)
	}
}

func BenchmarkFilterChain(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			u := mixed(b, n)
			last := n - 1
			c := conn(fmt.Sprintf("10.%d.%d.0:80", last/256, last%256), fmt.Sprintf("1.1.1.1:%d", n))
			b.ReportAllocs()
			for b.Loop() {
				if u.FilterChain(c).Name == "default" {
					b.Fatal("no chain")
				}
			}
		})
	}
}
