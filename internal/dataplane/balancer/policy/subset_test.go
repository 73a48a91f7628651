package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// inLocalities returns n endpoints in three localities, with weights.
func inLocalities(n int) []lbtree.Locality {
	all := []lbtree.Locality{{ID: endpoint.LocalityID{Zone: "x"}, Weight: 1}, {ID: endpoint.LocalityID{Zone: "y"}, Weight: 2}, {ID: endpoint.LocalityID{Zone: "z"}, Weight: 3}}
	for i := range n {
		e := endpointsOf(fmt.Sprintf("10.0.0.%d:80", i))[0]
		e.Weight = uint32(1 + i%4)
		l := &all[i%3]
		l.Endpoints = append(l.Endpoints, e)
	}
	return all
}

func addresses(all []lbtree.Locality) []string {
	var out []string
	for _, l := range all {
		for _, e := range l.Endpoints {
			out = append(out, e.Addresses[0].Addr)
		}
	}
	return out
}

// TestSubset compares subsets with the endpoints of the smallest hashes, and expects each endpoint to
// stay in its locality, with its share of calls.
func TestSubset(t *testing.T) {
	all := inLocalities(30)
	shares := make(map[string]uint32)
	for _, w := range lbtree.Flatten(all) {
		shares[w.Addresses[0].Addr] = w.Share
	}
	for seed := range uint64(50) {
		hash := func(addr string) uint64 {
			d := xxhash.NewWithSeed(seed)
			_, _ = d.WriteString(addr)
			return d.Sum64()
		}
		order := addresses(all)
		slices.SortFunc(order, func(a, b string) int {
			if hash(a) < hash(b) {
				return -1
			}
			return 1
		})
		for _, size := range []uint32{1, 7, 29, 30, 1 << 31} {
			got := subset(all, size, seed)
			want := order[:min(int(size), len(order))]
			if chosen := addresses(got); !slices.Equal(slices.Sorted(slices.Values(chosen)), slices.Sorted(slices.Values(want))) {
				t.Fatalf("seed %d: the subset is %v, want %v", seed, chosen, want)
			}
			ratio := 0.0
			for _, l := range got {
				from := all[slices.IndexFunc(all, func(o lbtree.Locality) bool { return o.ID == l.ID })]
				for _, e := range l.Endpoints {
					if from.Weight != l.Weight || !slices.ContainsFunc(from.Endpoints, func(o *lbtree.Endpoint) bool { return o.Key() == e.Key() && o.Weight == e.Weight }) {
						t.Errorf("endpoint %s is in locality %v", e.Key(), l.ID)
					}
				}
			}
			for _, w := range lbtree.Flatten(got) {
				r := float64(w.Share) / float64(shares[w.Addresses[0].Addr])
				if ratio == 0 {
					ratio = r
				}
				if math.Abs(r/ratio-1) > 1e-6 {
					t.Errorf("the share of %s has changed by %v, those of others by %v", w.Addresses[0].Addr, r, ratio)
				}
			}
		}
	}
}

// TestSubsetChangesLittle expects a change of one endpoint to change at most one of the subset.
func TestSubsetChangesLittle(t *testing.T) {
	for seed := range uint64(200) {
		all := inLocalities(20)
		before := addresses(subset(all, 6, seed))
		all[1].Endpoints = all[1].Endpoints[1:]
		kept := 0
		for _, addr := range addresses(subset(all, 6, seed)) {
			if slices.Contains(before, addr) {
				kept++
			}
		}
		if kept < 5 {
			t.Errorf("seed %d: %d of 6 endpoints stayed after one was removed", seed, kept)
		}
	}
}

// TestSubsetsDiffer expects the policies of many clients to choose each endpoint equally often, within
// six standard deviations.
func TestSubsetsDiffer(t *testing.T) {
	const clients, endpoints, size = 3000, 20, 5
	all, counts := inLocalities(endpoints), make(map[string]int)
	for range clients {
		p := newRandomSubsetting(&lbtree.Env{}, nil)
		for _, addr := range addresses(subset(all, size, p.seed)) {
			counts[addr]++
		}
	}
	const share = float64(size) / endpoints
	for addr, n := range counts {
		if math.Abs(float64(n)-clients*share) > 6*math.Sqrt(clients*share*(1-share)) {
			t.Errorf("%d of %d clients chose %s, want %v", n, clients, addr, clients*share)
		}
	}
}

// TestRandomSubsetting expects the child policy to get the subset, and its states to be those of the
// policy, unless the configuration is unusable.
func TestRandomSubsetting(t *testing.T) {
	th := new(theatre)
	p := newRandomSubsetting(&lbtree.Env{}, th.top)
	p.child = th.child(&lbtree.Env{}, p.child.report)
	update := func(config string) {
		p.Update(lbtree.Target{Policy: resource.LBConfig{Config: config}, Localities: inLocalities(9)})
	}
	const good = `{"subsetSize":4,"childPolicy":[{"unknown":{}},{"ring_hash_experimental":{"minRingSize":7}}]}`
	update(good)
	child := th.puppets[0]
	if got := child.targets[0]; child.name != "ring_hash_experimental" || got.Policy.Config != `{"minRingSize":7}` || len(addresses(got.Localities)) != 4 {
		t.Errorf("the child %s got %+v", child.name, got)
	}
	expect := func(want connectivity.State) {
		t.Helper()
		if th.reported.ConnectivityState != want {
			t.Errorf("the state is %v, want %v", th.reported.ConnectivityState, want)
		}
	}
	expect(connectivity.Connecting)
	child.state(connectivity.Ready)
	expect(connectivity.Ready)
	for config, want := range map[string]string{
		`{"subsetSize":0,"childPolicy":[{"round_robin":{}}]}`:          "subsetSize = 0; must be at least 1",
		`{"subsetSize":-1,"childPolicy":[{"round_robin":{}}]}`:         "cannot unmarshal",
		`{"subsetSize":4294967296,"childPolicy":[{"round_robin":{}}]}`: "cannot unmarshal",
		`{"subsetSize":1,"childPolicy":[{"unknown":{}}]}`:              "childPolicy: no LB policy of the list is known",
	} {
		update(config)
		expect(connectivity.TransientFailure)
		if f, ok := th.reported.Picker.(lbtree.Fail); !ok || !strings.Contains(f.Err.Error(), want) {
			t.Errorf("%s: calls fail with %v, want %s", config, th.reported.Picker, want)
		}
		child.state(connectivity.Ready)
		expect(connectivity.TransientFailure)
		var d dataplane.Policy
		p.Describe(&d)
		if !strings.Contains(d.Err, want) {
			t.Errorf("%s: the description has the error %q", config, d.Err)
		}
	}
	update(good)
	expect(connectivity.Ready)
	var d dataplane.Policy
	p.Describe(&d)
	if len(d.Children) != 1 || !d.Children[0].Subset || d.Children[0].Policy.Name != "ring_hash_experimental" || d.Err != "" {
		t.Errorf("the description is %+v", d)
	}
	p.ExitIdle()
	if child.woken != 1 {
		t.Errorf("the child was asked to connect %d times, want once", child.woken)
	}
	p.Close()
	child.state(connectivity.Idle)
	if !child.closed {
		t.Error("the child is open")
	}
	expect(connectivity.Ready)
}

// BenchmarkSubset chooses 20 of many endpoints.
func BenchmarkSubset(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			all := many(n).Localities
			seed := rand.Uint64()
			b.ReportAllocs()
			for b.Loop() {
				subset(all, 20, seed)
			}
		})
	}
}
