package conversions

import (
	"net/netip"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func address(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func TestValues(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
		Name:      "n",
		Share:     &typev3.FractionalPercent{Numerator: 25, Denominator: typev3.FractionalPercent_TEN_THOUSAND},
		Address:   address("::1", 80),
		Addresses: []*corev3.Address{address("10.0.0.1", 1), address("10.0.0.2", 2)},
		Parts:     []*testpb.Part{{Address: address("10.0.0.3", 3)}, {}, {Address: address("10.0.0.4", 4)}},
		Source:    &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := u.(*Update)
	if got.Reports != got.Server() || got.Reports == nil {
		t.Errorf("Reports = %v; must be the server that the resource came from", got.Reports)
	}
	want := &Update{
		Share: 2500, HostPort: "[::1]:80", AddrPort: netip.MustParseAddrPort("[::1]:80"),
		HostPorts: []string{"[::1]:80", "10.0.0.1:1", "10.0.0.2:2"},
		AddrPorts: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.3:3"), netip.MustParseAddrPort("10.0.0.4:4")},
		Reports:   got.Reports,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}

func TestAbsent(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Source: &corev3.ConfigSource{}})
	if err != nil {
		t.Fatal(err)
	}
	if !u.(*Update).Equal(&Update{}) {
		t.Errorf("update = %+v; must be zero", u)
	}
}
