package explain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/configfile"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/protoview"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// explained returns the way of a call through routes that the Listener contains. No cluster is there.
func explained(t *testing.T, routes *route.Update, call Call) *Result {
	t.Helper()
	viewer, err := protoview.New(new(configfile.Types), false)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener.Update{API: &listener.Manager{Routes: listener.Inline{Config: routes}}}
	r, err := Explainer{
		Viewer: viewer,
		Find: func(_ context.Context, typ, name string) (*world.Entry, error) {
			return &world.Entry{Type: typ, Name: name, State: world.DoesNotExist}, nil
		},
		Decode: func(e *world.Entry) (resource.Update, error) {
			if e.Type == listener.Type().Name() {
				return l, nil
			}
			return nil, nil
		},
	}.Explain(t.Context(), "l", call)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A random generator of routes and calls from few texts, so that they often match.
type random struct{ *rand.Rand }

func (r random) pick(list ...string) string { return list[r.IntN(len(list))] }

func (r random) path() string { return "/" + r.pick("a", "A", "b") + "/" + r.pick("x", "X", "y") }

func (r random) header() matcher.Header {
	h := matcher.Header{Name: r.pick("h", "k", "content-type", "x-bin"), Invert: r.IntN(4) == 0}
	switch r.IntN(3) {
	case 0:
		h.Present = new(r.IntN(2) == 0)
	case 1:
		h.Range = &matcher.Range{Start: 1, End: 3}
	default:
		h.Value = matcher.String{Kind: matcher.Kind(r.IntN(5)), Text: r.pick("1", "2", "application/grpc")}
	}
	return h
}

func (r random) route(i int) route.Route {
	x := route.Route{Name: fmt.Sprint(i), CaseSensitive: r.IntN(2) == 0, Action: route.Cluster{Name: "c"}}
	switch r.IntN(4) {
	case 0:
		x.Path = route.Prefix{Value: r.path()[:2+r.IntN(2)]}
	case 1:
		x.Path = route.Exact{Value: r.path()}
	case 2:
		x.Path = route.Regex{Pattern: regexp.MustCompile("^/[a-b]/" + r.pick("x", "y") + "$")}
	default:
		x.Path = route.Prefix{}
		x.Headers = append(x.Headers, r.header())
	}
	for r.IntN(3) == 0 {
		x.Headers = append(x.Headers, r.header())
	}
	if r.IntN(8) == 0 {
		x.Ignored = "for a test"
	}
	return x
}

func (r random) call() Call {
	c := Call{Authority: r.pick("svc", "SVC.example", "www.example", "other"), Method: r.path(), Headers: route.Metadata{}}
	for _, name := range []string{"h", "k", "x-bin"} {
		for range r.IntN(3) {
			c.Headers[name] = append(c.Headers[name], r.pick("1", "2", "3"))
		}
	}
	return c
}

// The explanation names the route that a channel takes, and a reason for each one above it.
func TestRouteIsThatOfMatch(t *testing.T) {
	taken, unrouted := 0, 0
	for seed := range uint64(3000) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		u := &route.Update{VirtualHosts: []route.VirtualHost{
			{Name: "a", Domains: []string{"svc", "*.example"}}, {Name: "b", Domains: []string{"www.*", "*"}},
		}}
		for h := range u.VirtualHosts {
			for i := range 1 + r.IntN(6) {
				u.VirtualHosts[h].Routes = append(u.VirtualHosts[h].Routes, r.route(i))
			}
		}
		call := r.call()
		want := u.VirtualHost(call.Authority)
		wantRoute := want.Match(call.Method, call.Headers)
		got := explained(t, u, call)
		if got.VirtualHost == nil || got.VirtualHost.Name != want.Name || got.VirtualHost.Domain == "" {
			t.Fatalf("seed %d: virtual host %+v; want %s with a domain", seed, got.VirtualHost, want.Name)
		}
		var found *Step
		for i := range got.Steps {
			s := &got.Steps[i]
			path := want.Routes[i]
			path.Headers = nil
			alone := route.VirtualHost{Routes: []route.Route{path}}
			if (alone.Match(call.Method, call.Headers) != nil) == strings.HasPrefix(s.Reason, "the path ") && s.Verdict == PassedOver && path.Ignored == "" {
				t.Fatalf("seed %d: %+v names the wrong matcher", seed, s)
			}
			switch {
			case s.Verdict == Taken && found == nil:
				found = s
			case found == nil && (s.Verdict != PassedOver || s.Reason == ""):
				t.Fatalf("seed %d: %+v is above the route that is taken, without a reason", seed, s)
			case found != nil && s.Verdict != NotReached:
				t.Fatalf("seed %d: %+v is below the route that is taken", seed, s)
			}
		}
		switch {
		case wantRoute == nil:
			unrouted++
			if found != nil || got.Problem == "" || len(got.Outcomes) > 0 {
				t.Fatalf("seed %d: route %+v and problem %q; want no route", seed, found, got.Problem)
			}
		case found == nil || found.Name != wantRoute.Name || len(got.Outcomes) != 1:
			t.Fatalf("seed %d: route %+v; want %q", seed, found, wantRoute.Name)
		default:
			taken++
		}
	}
	if taken < 500 || unrouted < 200 {
		t.Errorf("%d calls took a route, and %d took none; the test needs more of both", taken, unrouted)
	}
}

func TestShares(t *testing.T) {
	half, all := uint32(500_000), uint32(million)
	u := &route.Update{VirtualHosts: []route.VirtualHost{{Name: "v", Domains: []string{"*"}, Routes: []route.Route{
		{Path: route.Prefix{}, PerMillion: &half, Action: route.Cluster{Name: "a"}},
		{Path: route.Prefix{}, PerMillion: &half, Action: route.WeightedClusters{Clusters: []route.WeightedCluster{{Weight: 1, Name: "b"}, {Weight: 3, Name: "c"}}, Total: 4}},
		{Path: route.Prefix{}, PerMillion: &all, Action: route.Cluster{Name: "d"}},
		{Path: route.Prefix{}, Action: route.Cluster{Name: "e"}},
	}}}}
	r := explained(t, u, Call{Authority: "x", Method: "/s/m"})
	want := "500000 250000:62500,187500 250000:250000"
	got := ""
	for i, o := range r.Outcomes {
		switch i {
		case 0:
			got += fmt.Sprint(o.PerMillion)
		default:
			got += fmt.Sprintf(" %d:", o.PerMillion)
			for j, c := range o.Clusters {
				if j > 0 {
					got += ","
				}
				got += fmt.Sprint(c.PerMillion)
			}
		}
	}
	if got != want || r.Steps[3].Verdict != NotReached {
		t.Errorf("shares = %s, last verdict %s; want %s, %s", got, r.Steps[3].Verdict, want, NotReached)
	}
}

func TestPercent(t *testing.T) {
	for in, want := range map[uint32]string{0: "0%", 1: "0.0001%", 125_000: "12.5%", million: "100%", 100_000: "10%"} {
		if got := Percent(in); got != want {
			t.Errorf("Percent(%d) = %s; want %s", in, got, want)
		}
	}
}
