package grpcxds_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/cncf/xds/go/xds/type/matcher/v3"                                               // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"               // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/matcher/action/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"        // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"                             // for prototext
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Composite filters of a channel, three deep, choose as each level says. The cases are those of the server, TestCompositeThreeDeep.
func TestChannelCompositeThreeDeep(t *testing.T) {
	filter := abort
	for level := 3; level > 0; level-- {
		filter = fmt.Sprintf(`[type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] {
			extension_config { name: "c" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite] {} } }
			xds_matcher { matcher_list {
				matchers { predicate { single_predicate { %[1]s value_match { exact: "on" } } } on_match { action { name: "run" typed_config {
					[type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction] { typed_config { name: "inner" typed_config { %[2]s } } } } } } }
				matchers { predicate { single_predicate { %[1]s value_match { exact: "skip" } } } on_match { action { name: "skip" typed_config {
					[type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter] {} } } } } } } }`,
			fmt.Sprintf(`input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-%d" } } }`, level), filter)
	}
	p := newPlane(t)
	p.cluster("c", "e", newBackend(t, "b"))
	p.listener("svc", `http_filters { name: "composite" typed_config { `+filter+` } } route_config { `+hosts("*", to("c"))+` }`)
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())), "xds:///svc")
	values := []string{"on", "skip", ""}
	for i := range len(values) * len(values) * len(values) {
		ctx, want := soon(t), codes.Aborted
		levels := [3]string{values[i/9], values[i/3%3], values[i%3]}
		for j, v := range levels {
			if v != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, fmt.Sprint("x-", j+1), v)
			}
		}
		for _, v := range levels {
			if v != "on" {
				want = map[string]codes.Code{"skip": codes.OK, "": codes.Unavailable}[v]
				break
			}
		}
		if _, err := call(ctx, cc, "/p.S/M"); status.Code(err) != want {
			t.Errorf("levels %q: %v; want %v", levels, err, want)
		}
	}
}

// Fractions of routes hold over the wire, within six standard deviations. A fair choice fails the test once in 10^8 runs.
func TestFractionsOfCalls(t *testing.T) {
	p := newPlane(t)
	for _, name := range []string{"tenth", "rare", "never", "rest"} {
		p.cluster(name, name, newBackend(t, name))
	}
	route := func(fraction, cluster string) string {
		return `routes { match { prefix: "" runtime_fraction { default_value { ` + fraction + ` } } } route { cluster: "` + cluster + `" } } `
	}
	p.listener("svc", `route_config { `+hosts("*", route(`numerator: 0`, "never")+route(`numerator: 10`, "tenth")+route(`numerator: 5000 denominator: MILLION`, "rare")+
		route(`numerator: 10000 denominator: TEN_THOUSAND`, "rest")+to("never"))+` }`)
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())), "xds:///svc")
	const workers, each = 4, 2500
	var seen [3]atomic.Int64
	names := []string{"tenth", "rare", "rest"}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				got, err := call(soon(t), cc, "/p.S/M")
				known := false
				for i, name := range names {
					if got == name {
						seen[i].Add(1)
						known = true
					}
				}
				if !known {
					t.Errorf("a call goes to %q, %v", got, err)
				}
			}
		})
	}
	all.Wait()
	rest := 0.9 * (1 - 0.005)
	for i, share := range []float64{0.1, 0.9 * 0.005, rest} {
		mean := share * workers * each
		if n := float64(seen[i].Load()); math.Abs(n-mean) > 6*math.Sqrt(mean*(1-share)) {
			t.Errorf("%v of %d calls go to %s; want about %.0f", n, workers*each, names[i], mean)
		}
	}
	t.Logf("of %d calls %d, %d, %d go to %q", workers*each, seen[0].Load(), seen[1].Load(), seen[2].Load(), names)
}
