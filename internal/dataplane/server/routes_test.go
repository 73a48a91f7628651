package server

import (
	"runtime"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// The error of a route does not contain the full name of its virtual host, and the errors are
// printable.
func TestProblemsAreClipped(t *testing.T) {
	const size, count = 1 << 20, 2000
	u := plugincase.Read[*route.Update](t, route.Type(), new(routev3.RouteConfiguration), `name: "r"
		virtual_hosts { name: "a\nb\033`+strings.Repeat("h", size)+`" domains: "svc" `+
		strings.Repeat(`routes { match { prefix: "/" } redirect {} }`, count)+` }`)
	r := new(Problems)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.Judge([]Routes{{Update: u}, {Update: u}}, func(*route.Route) bool { return false }, "served")
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("the problems of %d routes allocate %d MiB; the name of the virtual host has 1 MiB", count, took>>20)
	}
	if len(r.texts) != count {
		t.Errorf("%d problems; want %d", len(r.texts), count)
	}
	for i, p := range r.texts {
		if spelled := p != ""; spelled != (i < maxProblems) || len(p) > printable.Quoted+3 || spelled && !strings.Contains(p, `"a\nb\x1bhhh`) {
			t.Fatalf("problem %d is %.500q; want the first %d spelled out, with the name escaped and clipped", i, p, maxProblems)
		}
	}
}
