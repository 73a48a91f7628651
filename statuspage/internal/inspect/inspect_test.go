package inspect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/route"
)

func decodeRoutes(tb testing.TB, text string) *route.Update {
	tb.Helper()
	m := new(routev3.RouteConfiguration)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		tb.Fatal(err)
	}
	u, err := plugincase.Decode(tb, route.Type(), m)
	if err != nil {
		tb.Fatal(err)
	}
	return u.(*route.Update)
}

// The explanation takes the route that calls take, and has a reason for each route before.
func TestRouteAgreesWithMatch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	path := func() string { return "/" + pick("a", "A", "ab", "b") + pick("", "/x", "/y") }
	for range 500 {
		var b strings.Builder
		for i := range 1 + rnd.IntN(12) {
			match := pick(fmt.Sprintf("prefix: %q", path()), fmt.Sprintf("path: %q", path()), `safe_regex { regex: "/a.*" }`, `prefix: "" query_parameters { name: "q" }`)
			match += pick("", "", " case_sensitive { value: false }")
			match += pick("", ` headers { name: "h" string_match { exact: "1" } }`, ` headers { name: "h" present_match: true invert_match: true }`,
				` headers { name: "n" range_match { start: 1 end: 5 } }`, ` headers { name: "x-bin" present_match: true }`, ` headers { name: "content-type" string_match { suffix: "grpc" } }`)
			match += pick("", "", "", " runtime_fraction { default_value { numerator: 0 } }", " runtime_fraction { default_value { numerator: 100 } }")
			fmt.Fprintf(&b, "routes { match { %s } route { cluster: \"c%d\" } }\n", match, i)
		}
		h := &decodeRoutes(t, `name: "r" virtual_hosts { domains: "*" `+b.String()+` }`).VirtualHosts[0]
		call := Call{Method: path(), Headers: map[string][]string{}}
		if rnd.IntN(2) == 0 {
			call.Headers["h"] = []string{pick("1", "2")}
		}
		if rnd.IntN(2) == 0 {
			call.Headers["n"] = []string{pick("0", "3"), pick("", "3")}[:1+rnd.IntN(2)]
		}
		e := &explanation{Route: Route{Call: call}}
		if got, want := e.match(h), h.Match(call.Method, route.Metadata(call.Headers)); got != want {
			t.Fatalf("the explanation of %+v takes %+v; calls take %+v\n%s", call, got, want, b.String())
		}
		for i, s := range e.Steps {
			if last := i == len(e.Steps)-1; s.Number != i || s.Taken && !last || !s.Taken && s.Reason == "" || s.Match == "" {
				t.Fatalf("step %d is %+v", i, s)
			}
		}
	}
}

// A route that takes a share of the calls is shown, and so is the one for the others. Long lists of routes
// are cut.
func TestRouteSteps(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `routes { match { path: "/other/%d" } route { cluster: "c" } } `, i)
	}
	h := &decodeRoutes(t, `name: "r" virtual_hosts { domains: "*" `+b.String()+`
		routes { match { prefix: "/a" runtime_fraction { default_value { numerator: 25 } } } route { cluster: "c" } }
		routes { name: "last" match { prefix: "/" } route { cluster: "c" } } routes { match { prefix: "" } route { cluster: "c" } } }`).VirtualHosts[0]
	e := &explanation{Route: Route{Call: Call{Method: "/a/b"}}}
	e.match(h)
	n := len(e.Steps)
	if n != maxSteps+2 || e.PassedOver != 1000-maxSteps || e.NotReached != 1 {
		t.Fatalf("%d steps, %d passed over, %d not reached", n, e.PassedOver, e.NotReached)
	}
	if s := e.Steps[n-2]; s.PerMillion != 250_000 || s.Taken || s.Reason != "takes 25 % of the calls; the others go on" {
		t.Errorf("the step with a share is %+v", s)
	}
	if s := e.Steps[n-1]; !s.Taken || s.Name != "last" || s.Match != `prefix "/"` {
		t.Errorf("the last step is %+v", s)
	}
}

// aggregate returns an aggregate cluster of others.
func aggregate(t *testing.T, name string, of ...string) status.Resource {
	t.Helper()
	m := new(clusterv3.Cluster)
	list := ""
	for _, c := range of {
		list += fmt.Sprintf(" clusters: %q", c)
	}
	text := fmt.Sprintf(`name: %q type: EDS eds_cluster_config { eds_config { ads {} } }`, name)
	if len(of) > 0 {
		text = fmt.Sprintf(`name: %q cluster_type { name: "envoy.clusters.aggregate" typed_config {
			[type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { %s } } }`, name, list)
	}
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	u, err := plugincase.Decode(t, cluster.Type(), m)
	if err != nil {
		t.Fatal(err)
	}
	return status.Resource{Type: cluster.Type().Name(), Name: parse(t, name), State: "ACKED", Update: u}
}

func parse(t *testing.T, name string) xdstp.Name {
	t.Helper()
	n, err := xdstp.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A chain follows references, marks the levels on the way to a problem, and shows a resource once.
func TestChain(t *testing.T) {
	bad := status.Resource{Type: cluster.Type().Name(), Name: parse(t, "bad"), State: "NACKED", Err: &resource.Error{
		Kind: resource.ErrInvalid, Type: cluster.Type().Name(), Name: parse(t, "bad"), Server: "xds.example:443",
	}}
	s := &status.Snapshot{Resources: []status.Resource{aggregate(t, "a", "b", "bad", "c"), aggregate(t, "b", "c"), bad, aggregate(t, "c"), aggregate(t, "lonely")}}
	got := chainOf(Client{}, s).String()
	want := `Cluster "a" ACKED BROKEN
  Cluster "b" ACKED HEALTHY
    Cluster "c" ACKED HEALTHY
      ClusterLoadAssignment "c" NOT_WATCHED HEALTHY
  Cluster "bad" NACKED BROKEN
  Cluster "c" ACKED HEALTHY (see above)
Cluster "lonely" ACKED HEALTHY
  ClusterLoadAssignment "lonely" NOT_WATCHED HEALTHY
`
	if got != want {
		t.Errorf("the chain is\n%swant\n%s", got, want)
	}
}

// A cycle of references ends. A wide chain is cut, and shows the broken part.
func TestChainsAreLimited(t *testing.T) {
	s := &status.Snapshot{Resources: []status.Resource{aggregate(t, "a", "b"), aggregate(t, "b", "a")}}
	if got := chainOf(Client{}, s).String(); strings.Count(got, "see above") != 2 {
		t.Errorf("the chain of a cycle is\n%s", got)
	}
	s.Resources = nil
	for i := range 3000 {
		s.Resources = append(s.Resources, aggregate(t, fmt.Sprint("c", i)))
	}
	s.Resources[2999].State, s.Resources[2999].Update = "NACKED", nil
	c := chainOf(Client{}, s)
	if len(c.Roots) != maxChildren || c.More != 3000-maxChildren || c.Roots[0].Name != "c2999" {
		t.Errorf("the chain has %d roots and %d more, the first is %s; want the broken one first", len(c.Roots), c.More, c.Roots[0].Name)
	}
}

// The marks of a comparison are at the paths of violations, or at the innermost message that is set.
func TestWithin(t *testing.T) {
	for _, test := range []struct {
		path, outer string
		want        bool
	}{{"a.b", "a", true}, {"a[1].b", "a", true}, {"a", "a", true}, {"ab", "a", false}, {"a", "a.b", false}} {
		if got := within(test.path, test.outer); got != test.want {
			t.Errorf("%q is within %q: %t", test.path, test.outer, got)
		}
	}
}

// Problems of the data plane and of control planes have their levels and texts.
func TestProblemsKeepTheWorst(t *testing.T) {
	d := newDiagnosis()
	for i := range 1000 {
		d.add(Problem{Level: Degraded, Text: fmt.Sprint(i), order: byEndpoint})
	}
	d.add(Problem{Level: Broken, Text: "target", order: byTarget})
	d.add(Problem{Level: Broken, Text: "resource", order: byResource})
	h := d.health()
	if h.State != Broken || len(h.Problems) != maxProblems || h.More != 1002-maxProblems || h.Problems[0].Text != "resource" || h.Problems[1].Text != "target" {
		t.Errorf("health = %s, %d problems and %d more, first %v", h.State, len(h.Problems), h.More, h.Problems[:2])
	}
}
