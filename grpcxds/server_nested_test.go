package grpcxds

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3" // for prototext
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// nested returns a composite filter that looks at the header "x-1", with another one inside that looks at "x-2", and so on. "on" runs the
// inner filter, and "skip" lets the call pass. The innermost filter is the leaf.
func nested(level, depth int, leaf string) string {
	inner := leaf
	if level < depth {
		inner = nested(level+1, depth, leaf)
	}
	return fmt.Sprintf(`[type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] {
		extension_config { name: "c" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite] {} } }
		xds_matcher { matcher_tree {
			input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-%d" } } }
			exact_match_map {
				map { key: "on" value { action { name: "run" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction] { typed_config { name: "inner" typed_config { %s } } } } } } }
				map { key: "skip" value { action { name: "skip" typed_config { [type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter] {} } } } } } } } }`, level, inner)
}

// nestedOutcome returns the code of a call with the headers of the levels, whose leaf ends calls with a code.
func nestedOutcome(headers []string, leaf codes.Code) codes.Code {
	for _, h := range headers {
		switch h {
		case "skip":
			return codes.OK
		case "":
			return codes.Unavailable // no match (A103)
		}
	}
	return leaf
}

// Composite filters three deep choose as each level says, for every combination of the levels, for unary calls and streams.
func TestCompositeThreeDeep(t *testing.T) {
	const deny = `[type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { rules { action: DENY policies { key: "all" value { permissions { any: true } principals { any: true } } } } }`
	w := newWorld(t)
	s := w.serve()
	w.publishListener(s.listener(`http_filters { name: "composite" typed_config { ` + nested(1, 3, deny) + ` } } ` + inline(anyRoute)))
	s.awaitServing()
	c := s.dial()
	values := []string{"on", "skip", ""}
	for _, a := range values {
		for _, b := range values {
			for _, d := range values {
				levels := []string{a, b, d}
				ctx := s.ctx
				for i, v := range levels {
					if v != "" {
						ctx = metadata.AppendToOutgoingContext(ctx, fmt.Sprint("x-", i+1), v)
					}
				}
				want := nestedOutcome(levels, codes.PermissionDenied)
				_, err := c.EmptyCall(ctx, &testpb.Empty{})
				ss, streamErr := c.FullDuplexCall(ctx)
				if streamErr == nil {
					if want == codes.OK {
						finish(t, ss)
					} else {
						_, streamErr = ss.Recv()
					}
				}
				if status.Code(err) != want || status.Code(streamErr) != want {
					t.Errorf("levels %q: %v, and a stream %v; want %v", levels, err, streamErr, want)
				}
			}
		}
	}
}

// Fractions of a server's routes hold over the wire, within six standard deviations. Calls beyond the fraction reach a route for clients.
func TestFractionsOfAServer(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	w.publishListener(s.listener(inline(`routes { match { prefix: "" runtime_fraction { default_value { numerator: 250000 denominator: MILLION } } } non_forwarding_action {} }
		routes { match { prefix: "" } route { cluster: "c" } }`)))
	s.awaitServing()
	const workers, each = 4, 2500
	var served atomic.Int64
	var all sync.WaitGroup
	for range workers {
		c := s.dial()
		all.Go(func() {
			for range each {
				switch st := s.call(c); st.Code() {
				case codes.OK:
					served.Add(1)
				case codes.Unavailable:
				default:
					t.Error(st)
				}
			}
		})
	}
	all.Wait()
	const share = 0.25
	if n := float64(served.Load()); math.Abs(n-share*workers*each) > 6*math.Sqrt(share*(1-share)*workers*each) {
		t.Errorf("%v of %d calls reach the route; want about %v", n, workers*each, share*workers*each)
	}
	t.Logf("%d of %d calls reach the route", served.Load(), workers*each)
}
