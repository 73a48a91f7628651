package route_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/plugins/route"
)

// An update that does not come from a decoder finds virtual hosts by a search. The result is the
// same.
func TestLiteralVirtualHost(t *testing.T) {
	u := &route.Update{VirtualHosts: []route.VirtualHost{
		{Name: "any", Domains: []string{"*"}},
		{Name: "suffix", Domains: []string{"*.example"}},
		{Name: "exact", Domains: []string{"a.Example"}},
	}}
	for authority, want := range map[string]string{"A.example": "exact", "b.example": "suffix", "other": "any"} {
		if h := u.VirtualHost(authority); h == nil || h.Name != want {
			t.Errorf("VirtualHost(%q) = %+v, want %s", authority, h, want)
		}
	}
	for name, u := range map[string]*route.Update{"nil": nil, "zero": {}} {
		if h := u.VirtualHost("x"); h != nil {
			t.Errorf("VirtualHost of %s = %+v; want nil", name, h)
		}
	}
}

// A nil regular expression matches no path.
func TestLiteralRegex(t *testing.T) {
	h := &route.VirtualHost{Routes: []route.Route{{Path: route.Regex{}}, {Name: "second", Path: route.Prefix{}}}}
	if r := h.Match("/a/b", nil); r == nil || r.Name != "second" {
		t.Errorf("Match = %+v, want the second route", r)
	}
}
