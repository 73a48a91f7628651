package clustermanager_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

func TestCallsGoToTheirCluster(t *testing.T) {
	b := startAll(t, 3)
	w := newWorld(t)
	const federated = "xdstp://east.example/envoy.config.cluster.v3.Cluster/b?b=2&a=1"
	w.set(map[string]xdsconfig.Cluster{
		"a":       eds(roundRobin, locality("x", 0, 1, b[0])),
		federated: eds(round, locality("x", 0, 1, b[1])),
	})
	for range 10 {
		if got := w.to("a"); got != b[0].addr {
			t.Fatalf("a call to a reached %s; want %s", got, b[0].addr)
		}
		if got := w.to(federated); got != b[1].addr {
			t.Fatalf("a call to b reached %s; want %s", got, b[1].addr)
		}
	}
	_, err := w.call(t.Context(), lbtree.Call{Cluster: "other"})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("a call to an unknown cluster: %v; must be UNAVAILABLE, with its name", err)
	}
}

// If no interceptor has chosen a route, the picker routes the call by the channel's state.
func TestUnroutedCalls(t *testing.T) {
	b := startAll(t, 1)
	w := newWorld(t)
	held := make(chan int, 16)
	w.state.Route = func(_ context.Context, method string) (*lbtree.Call, func(), error) {
		if method != testpb.TestService_UnaryCall_FullMethodName {
			return nil, nil, status.Error(codes.Unimplemented, "no route")
		}
		held <- 1
		return &lbtree.Call{Cluster: "c", Hash: 1, HasHash: true}, func() { held <- -1 }, nil
	}
	w.one(eds(ringHash, locality("x", 0, 1, b[0])))
	if _, err := w.client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.EmptyCall(t.Context(), &testpb.Empty{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a call without a route: %v", err)
	}
	uses, sum := len(held), 0
	for range uses {
		sum += <-held
	}
	if uses < 2 || sum != 0 {
		t.Errorf("the cluster was held and released %d times, and %d are left", uses, sum)
	}
}

// Calls to an unusable cluster fail with the reason. Other calls do not. The code of a control
// plane's status does not leak (A54).
func TestFailedCluster(t *testing.T) {
	b := startAll(t, 1)
	w := newWorld(t)
	w.set(map[string]xdsconfig.Cluster{
		"good":  eds(roundRobin, locality("x", 0, 1, b[0])),
		"bad":   {Err: status.Error(codes.PermissionDenied, "not for you")},
		"empty": eds(roundRobin),
		"down":  eds(roundRobin, locality("x", 0, 1, nowhere(t))),
	})
	w.to("good")
	for name, reason := range map[string]string{
		"bad": "not for you", "empty": "no usable endpoints (node id is test)", "down": "connection refused",
	} {
		_, err := w.call(t.Context(), lbtree.Call{Cluster: name})
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), name) {
			t.Errorf("a call to %q: %v; must be UNAVAILABLE, with its name and %q", name, err, reason)
		}
	}
}

func TestAggregate(t *testing.T) {
	b := startAll(t, 2)
	w := newWorld(t)
	clusters := func(first xdsconfig.Cluster) map[string]xdsconfig.Cluster {
		return map[string]xdsconfig.Cluster{
			"all":   {Update: eds(round).Update, Leaves: []string{"first", "missing", "second"}},
			"first": first, "second": eds(roundRobin, locality("x", 0, 1, b[1])),
			"missing": {Err: errors.New("it does not exist")},
			"none":    {Err: errors.New("no leaf is there")},
		}
	}
	w.set(clusters(eds(roundRobin, locality("x", 0, 1, b[0]))), "all", "none")
	if got := w.to("all"); got != b[0].addr {
		t.Errorf("the first cluster is valid, but a call reached %s", got)
	}
	w.set(clusters(eds(roundRobin, locality("x", 0, 1, nowhere(t)))), "all", "none")
	w.until("all", at(b[1]))
	w.set(clusters(xdsconfig.Cluster{Err: errors.New("removed")}), "all", "none")
	w.until("all", at(b[1]))
	w.set(clusters(eds(roundRobin, locality("x", 0, 1, b[0]))), "all", "none")
	w.until("all", at(b[0]))
	if _, err := w.call(t.Context(), lbtree.Call{Cluster: "none"}); !strings.Contains(err.Error(), "no leaf is there") {
		t.Errorf("a call to an aggregate without leaves: %v", err)
	}
}

func TestPriorities(t *testing.T) {
	b := startAll(t, 2)
	w := newWorld(t)
	w.one(eds(roundRobin, locality("x", 0, 1, b[0]), locality("y", 1, 1, b[1])))
	if got := w.to("c"); got != b[0].addr {
		t.Fatalf("a call reached %s; want the better priority", got)
	}
	b[0].server.Stop()
	w.until("c", at(b[1]))
	again := b[0].start(t)
	w.until("c", at(again))
	if again.calls.Load() == 0 {
		t.Error("the better priority is back, and gets no calls")
	}
}

// The shares of the calls are within six standard deviations of the weights.
func TestLocalityWeights(t *testing.T) {
	b := startAll(t, 4)
	w := newWorld(t)
	w.one(eds(roundRobin, locality("x", 0, 3, b[0], b[1]), locality("y", 0, 1, b[2], b[3])))
	for _, s := range b { // until all are connected
		w.until("c", at(s))
	}
	const n = 4000
	got := w.spread(n, func(int) lbtree.Call { return lbtree.Call{Cluster: "c"} })
	x := float64(got[b[0].addr] + got[b[1].addr])
	if want, tolerance := 0.75*n, 6*math.Sqrt(n*0.75*0.25); math.Abs(x-want) > tolerance {
		t.Errorf("%v of %d calls reached a locality of weight 3 of 4; want %v ± %v", x, n, want, tolerance)
	}
	if d := got[b[0].addr] - got[b[1].addr]; d < -1 || d > 1 {
		t.Errorf("within a locality, calls go round: %v", got)
	}
}

func TestHealth(t *testing.T) {
	b := startAll(t, 4)
	l := locality("x", 0, 1, b...)
	for i, h := range []endpoint.Health{endpoint.HealthUnknown, endpoint.HealthHealthy, endpoint.HealthDraining, endpoint.HealthUnhealthy} {
		l.Endpoints[i].Health = h
	}
	w := newWorld(t)
	w.one(eds(roundRobin, l))
	w.until("c", at(b[0]))
	w.until("c", at(b[1]))
	w.spread(50, func(int) lbtree.Call { return lbtree.Call{Cluster: "c"} })
	if b[2].calls.Load()+b[3].calls.Load() > 0 {
		t.Error("endpoints that are draining or unhealthy get calls")
	}
}

// An endpoint with several addresses is one endpoint. The policy uses the first address that
// accepts a connection.
func TestAddressesOfAnEndpoint(t *testing.T) {
	b := startAll(t, 2)
	l := locality("x", 0, 1, b[1])
	l.Endpoints[0] = endpoint.New(nowhere(t).addr, b[0].addr, b[1].addr)
	for name, w := range map[string]*world{"round_robin": newWorld(t), "ring_hash": newWorld(t)} {
		lb := roundRobin
		if name == "ring_hash" {
			lb = ringHash
		}
		w.one(eds(lb, l))
		for range 10 {
			if got, err := w.call(t.Context(), lbtree.Call{Cluster: "c", Hash: 1, HasHash: true}); got != b[0].addr {
				t.Errorf("%s: a call reached %q, %v; want the first address that accepts connections", name, got, err)
			}
		}
	}
}

// Endpoints are added and removed, clusters change their policies, and no call fails.
func TestChurn(t *testing.T) {
	b := startAll(t, 6)
	w := newWorld(t)
	w.one(eds(roundRobin, locality("x", 0, 1, b...)))
	w.to("c")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 4)
	for range 4 {
		go func() {
			for ctx.Err() == nil {
				if _, err := w.call(context.WithoutCancel(ctx), lbtree.Call{Cluster: "c", Hash: 7, HasHash: true}); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	policies := []xdsconfig.Cluster{eds(roundRobin), eds(round), eds(ringHash)}
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for i := range 120 {
		c := policies[i/10%3]
		for j, s := range b {
			if (i+j)%3 != 0 {
				c.Localities = append(c.Localities, locality(string(rune('a'+j%2+i/40)), uint32(j%2), 1, s))
			}
		}
		c.Localities = merged(c.Localities)
		w.one(c)
		<-pause.C
	}
	cancel()
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// merged joins the endpoints of equal localities.
func merged(in []endpoint.Locality) (out []endpoint.Locality) {
	for _, l := range in {
		i := 0
		for i < len(out) && (out[i].ID != l.ID || out[i].Priority != l.Priority) {
			i++
		}
		if i == len(out) {
			out = append(out, l)
		} else {
			out[i].Endpoints = append(out[i].Endpoints, l.Endpoints...)
		}
	}
	return out
}

// Every policy that internal/extensions/lbpolicy renders runs and uses the intended endpoints.
func TestEveryPolicy(t *testing.T) {
	b := startAll(t, 4)
	in := func(child string) resource.LBConfig {
		return resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":[` + child + `]}`}
	}
	for name, test := range map[string]struct {
		lb   resource.LBConfig
		used int // of four servers
	}{
		"round_robin":          {roundRobin, 4},
		"ring_hash":            {ringHash, 4},
		"least_request":        {in(`{"least_request_experimental":{"choiceCount":2}}`), 4},
		"pick_first":           {in(`{"pick_first":{"shuffleAddressList":false}}`), 1},
		"pick_first, shuffled": {in(`{"pick_first":{"shuffleAddressList":true}}`), 1},
		"weighted_round_robin": {in(`{"weighted_round_robin":{"blackoutPeriod":"0s"}}`), 4},
		"random_subsetting":    {in(`{"random_subsetting_experimental":{"subsetSize":2,"childPolicy":[{"round_robin":{}}]}}`), 2},
		"subset of a ring": {resource.LBConfig{
			Name: "random_subsetting_experimental", Config: `{"subsetSize":3,"childPolicy":[{"ring_hash_experimental":{}}]}`,
		}, 3},
		"subset of localities": {resource.LBConfig{
			Name: "random_subsetting_experimental", Config: `{"subsetSize":3,"childPolicy":[{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}]}`,
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.one(eds(test.lb, locality("x", 0, 1, b...)))
			got := make(map[string]bool)
			for i := uint64(0); i < 2000 && len(got) < test.used || i < 100; i++ {
				addr, err := w.call(t.Context(), lbtree.Call{Cluster: "c", Hash: i * 0x9e3779b97f4a7c15, HasHash: true})
				if err != nil {
					t.Fatal(err)
				}
				got[addr] = true
			}
			if len(got) != test.used {
				t.Errorf("%d servers were used, want %d", len(got), test.used)
			}
		})
	}
}
