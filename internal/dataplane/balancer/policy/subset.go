package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
)

// A randomSubsetting is the policy random_subsetting. It passes a random subset of the endpoints to
// its child policy. When endpoints change, the subset changes as little as possible (gRFC A68).
type randomSubsetting struct {
	report lbtree.Report
	seed   uint64
	child  *Switch
	state  balancer.State // of the child
	err    error          // why the configuration is unusable
	batch  lbtree.Batch
}

func newRandomSubsetting(env *lbtree.Env, report lbtree.Report) *randomSubsetting {
	p := &randomSubsetting{report: report, seed: rand.Uint64(), state: lbtree.Connecting()}
	p.child = New(env, func(s balancer.State) {
		p.state = s
		p.batch.Changed()
	})
	p.batch.Report = p.publish
	return p
}

// Update chooses the subset anew, and updates the child policy.
func (p *randomSubsetting) Update(t lbtree.Target) {
	var child resource.LBConfig
	var size uint32
	if child, size, p.err = parseSubset(t.Policy.Config); p.err == nil {
		p.batch.Pause(func() {
			p.child.Update(lbtree.Target{Policy: child, Localities: subset(t.Localities, size, p.seed), Chooses: t.Chooses})
		})
	}
	p.batch.Changed()
}

// parseSubset returns the child policy and the size of the subset in a configuration.
func parseSubset(config string) (child resource.LBConfig, size uint32, err error) {
	var c struct {
		ChildPolicy json.RawMessage `json:"childPolicy"`
		SubsetSize  uint32          `json:"subsetSize"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return child, 0, fmt.Errorf("LB policy %s: %w", lbpolicy.RandomSubsetting, err)
	}
	if c.SubsetSize == 0 {
		return child, 0, fmt.Errorf("LB policy %s: subsetSize = 0; must be at least 1 (A68)", lbpolicy.RandomSubsetting)
	}
	if child, err = first(c.ChildPolicy); err != nil {
		return child, 0, fmt.Errorf("LB policy %s: childPolicy: %w", lbpolicy.RandomSubsetting, err)
	}
	return child, c.SubsetSize, nil
}

// subset returns the endpoints with the smallest hashes of their first addresses, in this order. Each
// stays in its locality, and keeps its share of the locality's calls in relation to the others.
func subset(all []lbtree.Locality, size uint32, seed uint64) []lbtree.Locality {
	n := lbtree.Count(all)
	if uint64(n) <= uint64(size) { //nolint:gosec // not negative
		return all
	}
	type candidate struct {
		hash     uint64
		locality int
		endpoint *lbtree.Endpoint
	}
	candidates := make([]candidate, 0, n)
	digest := xxhash.NewWithSeed(seed)
	for i := range all {
		for j := range all[i].Endpoints {
			e := all[i].Endpoints[j]
			digest.ResetWithSeed(seed)
			_, _ = digest.WriteString(e.Address()) // cannot fail
			candidates = append(candidates, candidate{digest.Sum64(), i, e})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.endpoint.Address(), b.endpoint.Address()))
	})
	var out []lbtree.Locality
	at := make(map[int]int)
	for _, c := range candidates[:size] {
		k, ok := at[c.locality]
		if !ok {
			k = len(out)
			l := &all[c.locality]
			out, at[c.locality] = append(out, lbtree.Locality{ID: l.ID, Weight: l.Weight, Total: l.Sum()}), k
		}
		out[k].Endpoints = append(out[k].Endpoints, c.endpoint)
	}
	return out
}

// publish reports the state of the child, or the error of an unusable configuration.
func (p *randomSubsetting) publish() {
	if p.err != nil {
		p.report(lbtree.Failure(p.err))
		return
	}
	p.report(p.state)
}

// ExitIdle connects idle endpoints of the subset.
func (p *randomSubsetting) ExitIdle() { p.child.ExitIdle() }

// Close closes the child policy.
func (p *randomSubsetting) Close() {
	p.child.Close()
}
