package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// localities is the policy xds_wrr_locality. It picks a locality by weight, and has a child policy
// for each locality (A28, A52).
type localities struct {
	env      *lbtree.Env
	report   lbtree.Report
	child    func(env *lbtree.Env, report lbtree.Report) *Switch
	children map[endpoint.LocalityID]*locality
	order    []*locality // in the order of the target
	err      error       // why the configuration is unusable
	batch    lbtree.Batch
}

type locality struct {
	id     endpoint.LocalityID
	policy *Switch
	weight uint32
	state  balancer.State // after Sticky (A62)
}

func newLocalities(env *lbtree.Env, report lbtree.Report) *localities {
	p := &localities{env: env, report: report, child: New, children: make(map[endpoint.LocalityID]*locality)}
	p.batch.Report = p.publish
	return p
}

// Update updates each locality's policy, and closes the policies of removed localities.
func (p *localities) Update(t lbtree.Target) {
	var child resource.LBConfig
	if child, p.err = childOf(t.Policy.Config); p.err == nil {
		p.batch.Pause(func() { p.replace(child, t.Localities) })
	}
	p.batch.Changed()
}

func (p *localities) replace(child resource.LBConfig, all []lbtree.Locality) {
	last := p.children
	p.children = make(map[endpoint.LocalityID]*locality, len(all))
	p.order = p.order[:0]
	for _, l := range all {
		c := last[l.ID]
		if c == nil {
			c = p.start(l.ID)
		}
		delete(last, l.ID)
		c.weight = l.Weight
		p.children[l.ID] = c
		p.order = append(p.order, c)
		c.policy.Update(lbtree.Target{Policy: child, Localities: []lbtree.Locality{l}})
	}
	for _, c := range last {
		c.policy.Close()
	}
}

// childOf returns the child policy of each locality in a configuration.
func childOf(config string) (resource.LBConfig, error) {
	var c struct {
		ChildPolicy json.RawMessage `json:"childPolicy"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return resource.LBConfig{}, fmt.Errorf("LB policy %s: %w", lbpolicy.WRRLocality, err)
	}
	child, err := first(c.ChildPolicy)
	if err != nil {
		return resource.LBConfig{}, fmt.Errorf("LB policy %s: childPolicy: %w", lbpolicy.WRRLocality, err)
	}
	return child, nil
}

func (p *localities) start(id endpoint.LocalityID) *locality {
	c := &locality{id: id, state: lbtree.Connecting()}
	c.policy = p.child(p.env, func(s balancer.State) {
		c.state = lbtree.Sticky(c.state, s)
		p.batch.Changed()
	})
	return c
}

// publish reports the combined state of the localities, or the error of an unusable configuration.
func (p *localities) publish() {
	if p.err != nil {
		p.report(lbtree.Failure(p.err))
		return
	}
	var tally lbtree.Tally
	for _, c := range p.order {
		tally.Add(c.state.ConnectivityState)
	}
	s := balancer.State{ConnectivityState: tally.State(), Picker: lbtree.Queue{}}
	if s.ConnectivityState != connectivity.Connecting {
		var spread spread
		for _, c := range p.order {
			if c.state.ConnectivityState == s.ConnectivityState {
				spread.add(c.weight, c.state.Picker)
			}
		}
		s.Picker = spread.picker()
	}
	p.report(s)
}

// ExitIdle connects idle endpoints.
func (p *localities) ExitIdle() {
	for _, c := range p.order {
		c.policy.ExitIdle()
	}
}

// Close closes the policies of all localities.
func (p *localities) Close() {
	p.batch.Close()
	for _, c := range p.order {
		c.policy.Close()
	}
}

// A spread picks among pickers at random, by their weights.
type spread struct {
	pickers []balancer.Picker
	// ends are the cumulative weights of the pickers.
	ends []uint64
}

func (s *spread) add(weight uint32, p balancer.Picker) {
	end := uint64(weight)
	if n := len(s.ends); n > 0 {
		end += s.ends[n-1]
	}
	s.pickers = append(s.pickers, p)
	s.ends = append(s.ends, end)
}

// picker returns the spread, or a simpler picker if there is at most one.
func (s *spread) picker() balancer.Picker {
	switch len(s.pickers) {
	case 0:
		return lbtree.Fail{Err: ErrNoEndpoints}
	case 1:
		return s.pickers[0]
	}
	return s
}

// Pick picks with one of the pickers.
func (s *spread) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	return s.pickers[s.at(rand.Uint64N(s.ends[len(s.ends)-1]))].Pick(info)
}

// at returns the index of the picker for a point in the cumulative weights.
func (s *spread) at(point uint64) int {
	return sort.Search(len(s.ends), func(i int) bool { return point < s.ends[i] })
}
