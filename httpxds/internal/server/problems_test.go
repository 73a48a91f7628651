package server

import (
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A filter that cannot run is reported once, also if there is no route whose requests it fails.
func TestProblemsOfFilters(t *testing.T) {
	routes := []route.VirtualHost{{Name: "v", Routes: []route.Route{{Name: "r", Action: route.NonForwarding{}}}}}
	for name, hosts := range map[string][]route.VirtualHost{"no route": nil, "a route": routes} {
		c := &chainFilters{Filters: []listener.HTTPFilter{{Name: "own", Message: "m"}}, Known: func(string) *resource.HTTPFilter { return nil }}
		var p server.Problems
		(&backend{config: new(Config)}).compile(c, &route.Update{VirtualHosts: hosts}, &p)
		if got := p.Texts(); len(got) != 1 || !strings.Contains(got[0], `HTTP filter "own": no m is registered`) {
			t.Errorf("%s: the problems are %q; want that of the filter", name, got)
		}
	}
}
