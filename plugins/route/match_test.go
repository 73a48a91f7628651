package route_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

func TestVirtualHost(t *testing.T) {
	u := decode(t, `
		virtual_hosts { name: "any" domains: "*" }
		virtual_hosts { name: "exact" domains: "a.example" domains: "B.Example:80" }
		virtual_hosts { name: "short" domains: "*.example" domains: "a*" }
		virtual_hosts { name: "long" domains: "*.a.example" domains: "a.b*" domains: "x*y" domains: "" }
		virtual_hosts { name: "late" domains: "*" domains: "a.example" domains: "*.example" }`)
	for authority, want := range map[string]string{
		"a.example": "exact", "A.EXAMPLE": "exact", "b.example:80": "exact",
		"b.example": "short", ".example": "any", "b.a.example": "long", ".a.example": "short",
		"a.c": "short", "a": "any", "a.b.c": "long", "a.b": "short", "xzy": "any", "": "any",
	} {
		if want == "any" && authority == "" {
			want = "long" // the empty domain, exactly
		}
		if got := u.VirtualHost(authority); got == nil || got.Name != want {
			t.Errorf("VirtualHost(%q) = %+v; want %s", authority, got, want)
		}
	}
	if got := decode(t, `virtual_hosts { domains: "a" }`).VirtualHost("b"); got != nil {
		t.Errorf("an authority that no domain matches has the virtual host %+v", got)
	}
}

func TestMatchHeaders(t *testing.T) {
	headers := route.Metadata{"one": {"x"}, "two": {"a", "b"}, "n": {"-5"}, "tok-bin": {"x"}}
	for matcher, want := range map[string]bool{
		`name: "One" exact_match: "x"`:                                       true,
		`name: "one" exact_match: "x" invert_match: true`:                    false,
		`name: "two" exact_match: "a,b"`:                                     true,
		`name: "two" string_match { prefix: "A," ignore_case: true }`:        true,
		`name: "two" suffix_match: ",b"`:                                     true,
		`name: "two" contains_match: ","`:                                    true,
		`name: "two" safe_regex_match { regex: "." }`:                        false,
		`name: "two" safe_regex_match { regex: "a|a,b" }`:                    true,
		`name: "n" range_match { start: -5 end: -4 }`:                        true,
		`name: "n" range_match { start: -6 end: -5 }`:                        false,
		`name: "one" range_match { start: 0 end: 9 }`:                        false,
		`name: "one" range_match { start: 0 end: 9 } invert_match: true`:     true,
		`name: "no" present_match: true`:                                     false,
		`name: "no" present_match: true invert_match: true`:                  true,
		`name: "no" present_match: false`:                                    true,
		`name: "no" exact_match: "x" invert_match: true`:                     false,
		`name: "tok-bin" present_match: true`:                                false,
		`name: "content-type" exact_match: "application/grpc"`:               true,
		`name: "one" exact_match: "x" } headers { name: "n" exact_match: ""`: false,
	} {
		u := decode(t, one(`match { prefix: "" headers { `+matcher+` } } route { cluster: "c" }`))
		if got := u.VirtualHosts[0].Match("/a", headers) != nil; got != want {
			t.Errorf("%s: %v; want %v", matcher, got, want)
		}
	}
}

// Match skips routes that gRPC ignores, and tries the next one.
func TestMatchPassesOver(t *testing.T) {
	u := decode(t, `virtual_hosts { domains: "*"
		routes { match { prefix: "" query_parameters { name: "x" } } route { cluster: "a" } }
		routes { match { prefix: "" } route { cluster_header: "x" } }
		routes { match { prefix: "" } route { } }
		routes { match { prefix: "" runtime_fraction { default_value { numerator: 0 } } } route { cluster: "b" } }
		routes { match { prefix: "" runtime_fraction { default_value { numerator: 100 } } } redirect { } } }`)
	if r := u.VirtualHosts[0].Match("/a", nil); r != &u.VirtualHosts[0].Routes[4] || r.Action != nil {
		t.Errorf("Match = %+v; want the last route, whose action gRPC does not support", r)
	}
}

// A fractional route matches its share of the calls. Case is ignored for ASCII letters only, with
// and without a table of routes.
func TestMatchIgnoresTheCaseOfLetters(t *testing.T) {
	const text = `routes { match { path: "/AZaz@[" case_sensitive { value: false } } route { cluster: "a" } } `
	for _, routes := range []int{1, 20} {
		h := &decode(t, `virtual_hosts { domains: "*" `+strings.Repeat(text, routes)+`}`).VirtualHosts[0]
		for path, want := range map[string]bool{"/AZaz@[": true, "/azAZ@[": true, "/bzAZ@[": false, "/ayAZ@[": false, "/azaz`[": false, "/azaz@{": false} {
			if got := h.Match(path, nil) != nil; got != want {
				t.Errorf("with %d routes, path %s matches: %t; want %t", routes, path, got, want)
			}
		}
	}
}

// A program may remove routes from its copy of a virtual host. Match finds none of those, with and without a table of routes.
func TestMatchAfterRoutesAreRemoved(t *testing.T) {
	for _, routes := range []int{2, 20} {
		var b strings.Builder
		for i := range routes {
			fmt.Fprintf(&b, `routes { match { path: "/%d" } route { cluster: "a" } } `, i)
		}
		h := host(t, b.String())
		h.Routes = h.Routes[:routes-1]
		for i := range routes {
			path, there := fmt.Sprint("/", i), i < routes-1
			if got := h.Match(path, nil) != nil; got != there {
				t.Errorf("with %d of %d routes, a call of %s matches: %t; want %t", routes-1, routes, path, got, there)
			}
			if got := h.MatchHTTP(path, nil) >= 0; got != there {
				t.Errorf("with %d of %d routes, a request for %s matches: %t; want %t", routes-1, routes, path, got, there)
			}
		}
	}
}

// Match respects the order of routes whose prefixes have many different lengths, or all the same
// length.
func TestMatchManyPrefixesOfOnePath(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `routes { match { prefix: "/%s" headers { name: "n" string_match { exact: "%d" } } } route { cluster: "%d" } } `, strings.Repeat("a", i%30), i, i)
	}
	h := &decode(t, `virtual_hosts { domains: "*" `+b.String()+`}`).VirtualHosts[0]
	for i := range 200 {
		n := strconv.Itoa(i)
		if r := h.Match("/"+strings.Repeat("a", 100), route.Metadata{"n": {n}}); r == nil || r.Action != (route.Cluster{Name: n}) {
			t.Fatalf("the call for route %d gets %+v", i, r)
		}
	}
}

func TestMatchFraction(t *testing.T) {
	u := decode(t, one(`match { prefix: "" runtime_fraction { default_value { numerator: 25 } } } route { cluster: "a" }`))
	n := 0
	for range 10_000 {
		if u.VirtualHosts[0].Match("/a", nil) != nil {
			n++
		}
	}
	if n < 2200 || n > 2800 {
		t.Errorf("%d of 10000 calls match; must be about 2500", n)
	}
}

// naive finds the first matching route without a table.
func naive(routes []*routev3.Route, path string) int {
	for i, r := range routes {
		p, fold := path, r.GetMatch().GetCaseSensitive() != nil && !r.GetMatch().GetCaseSensitive().GetValue()
		want := r.GetMatch().GetPrefix() + r.GetMatch().GetPath()
		if fold {
			p, want = strings.ToLower(p), strings.ToLower(want)
		}
		if _, exact := r.GetMatch().GetPathSpecifier().(*routev3.RouteMatch_Path); exact && p == want || !exact && strings.HasPrefix(p, want) {
			return i
		}
	}
	return -1
}

// randomRoutes returns routes with short paths of few letters, so that many match.
func randomRoutes(rnd *rand.Rand, n int) []*routev3.Route {
	out := make([]*routev3.Route, 0, n)
	for range n {
		m := &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: randomPath(rnd, 6)}}
		if rnd.IntN(2) == 0 {
			m.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: randomPath(rnd, 40)}
		}
		if rnd.IntN(3) == 0 {
			m.CaseSensitive = wrapperspb.Bool(rnd.IntN(2) == 0)
		}
		out = append(out, &routev3.Route{Match: m, Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}}})
	}
	return out
}

func randomPath(rnd *rand.Rand, most int) string {
	b := []byte("/")
	for range rnd.IntN(most) {
		b = append(b, "aAb"[rnd.IntN(3)])
	}
	return string(b)
}

// Match finds the same route as a search through all routes.
func TestMatchAgreesWithNaive(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		m := &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*"}, Routes: randomRoutes(rnd, 1+rnd.IntN(100))}}}
		decoded, err := plugincase.Decode(t, route.Type(), m)
		if err != nil {
			t.Fatal(err)
		}
		h := &decoded.(*route.Update).VirtualHosts[0]
		for range 200 {
			path := randomPath(rnd, 45)
			want := naive(m.GetVirtualHosts()[0].GetRoutes(), path)
			got := h.Match(path, nil)
			if want < 0 && got != nil || want >= 0 && got != &h.Routes[want] {
				t.Fatalf("seed %d: Match(%q) = %+v; want the first match, %d", seed, path, got, want)
			}
		}
	}
}

// services decodes a virtual host with a route for each method, as control planes send it.
func services(tb testing.TB, routes int) *route.Update {
	tb.Helper()
	var b strings.Builder
	b.WriteString(`virtual_hosts { domains: "a.example" domains: "*.a.example" `)
	for i := range routes {
		fmt.Fprintf(&b, `routes { match { path: "/acme.v1.Service%d/Method" headers { name: "version" exact_match: "2" } } route { cluster: "c%d" } } `, i, i)
	}
	b.WriteString(`routes { match { prefix: "/acme." case_sensitive { value: false } } route { cluster: "x" } } }`)
	return decode(tb, b.String())
}

func TestMatchAllocatesNothing(t *testing.T) {
	u := services(t, 100)
	headers := route.Metadata{"version": {"2"}}
	if n := testing.AllocsPerRun(100, func() {
		h := u.VirtualHost("b.a.example")
		if r := h.Match("/acme.v1.Service99/Method", headers); r == nil || r.Action != (route.Cluster{Name: "c99"}) {
			t.Error("Match returned the wrong route")
		}
		if r := h.Match("/ACME.v1.Other/Method", headers); r == nil || r.Action != (route.Cluster{Name: "x"}) {
			t.Error("Match returned the wrong route")
		}
	}); n > 0 {
		t.Errorf("Match allocates %v times; want 0", n)
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, routes := range []int{4, 10, 5000} {
		b.Run(fmt.Sprint(routes), func(b *testing.B) {
			h := services(b, routes).VirtualHost("a.example")
			headers := route.Metadata{"version": {"2"}}
			path := fmt.Sprintf("/acme.v1.Service%d/Method", routes-1)
			b.ReportAllocs()
			for b.Loop() {
				if h.Match(path, headers) == nil {
					b.Fatal("no route")
				}
			}
		})
	}
}
