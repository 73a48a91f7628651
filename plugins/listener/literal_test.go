package listener_test

import (
	"net/netip"
	"testing"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// An update that does not come from a decoder finds filter chains by a search. The result is the
// same.
func TestLiteralFilterChain(t *testing.T) {
	u := &listener.Update{
		FilterChains: []listener.FilterChain{
			{Name: "wide", Match: listener.Match{Destinations: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}},
			{Name: "narrow", Match: listener.Match{Destinations: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}},
		},
		DefaultFilterChain: &listener.FilterChain{Name: "default"},
	}
	for addr, want := range map[string]string{"10.1.0.1:1": "narrow", "10.2.0.1:1": "wide", "11.0.0.1:1": "default"} {
		if c := u.FilterChain(listener.Conn{Local: netip.MustParseAddrPort(addr)}); c == nil || c.Name != want {
			t.Errorf("FilterChain(%s) = %+v, want %s", addr, c, want)
		}
	}
	for name, u := range map[string]*listener.Update{"nil": nil, "zero": {}} {
		if c := u.FilterChain(listener.Conn{}); c != nil {
			t.Errorf("FilterChain of %s = %+v; want nil", name, c)
		}
	}
}
