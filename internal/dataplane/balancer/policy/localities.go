package policy

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// localities is the policy xds_wrr_locality. It picks a locality by weight, and has a child policy
// for each locality (A28, A52).
type localities struct {
	env      *node.Env
	report   node.Report
	child    func(env *node.Env, report node.Report) *Switch
	children map[endpoint.LocalityID]*locality
	order    []*locality // in the order of the target
	err      error       // why the configuration is unusable
	busy     bool
}

type locality struct {
	policy *Switch
	weight uint32
	state  balancer.State // after Sticky (A62)
}

func newLocalities(env *node.Env, report node.Report) *localities {
	return &localities{env: env, report: report, child: New, children: make(map[endpoint.LocalityID]*locality)}
}

// Update updates each locality's policy, and closes the policies of removed localities.
func (p *localities) Update(t node.Target) {
	var child resource.LBConfig
	if child, p.err = childOf(t.Policy.Config); p.err != nil {
		p.settle()
		return
	}
	p.busy = true
	last := p.children
	p.children = make(map[endpoint.LocalityID]*locality, len(t.Localities))
	p.order = p.order[:0]
	for _, l := range t.Localities {
		c := last[l.ID]
		if c == nil {
			c = p.start()
		}
		delete(last, l.ID)
		c.weight = l.Weight
		p.children[l.ID] = c
		p.order = append(p.order, c)
		c.policy.Update(node.Target{Policy: child, Localities: []node.Locality{l}})
	}
	for _, c := range last {
		c.policy.Close()
	}
	p.busy = false
	p.settle()
}

// childOf returns the child policy of each locality in a configuration.
func childOf(config string) (resource.LBConfig, error) {
	var c struct {
		ChildPolicy json.RawMessage `json:"childPolicy"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return resource.LBConfig{}, fmt.Errorf("LB policy %s: %w", wrrLocality, err)
	}
	child, err := first(c.ChildPolicy)
	if err != nil {
		return resource.LBConfig{}, fmt.Errorf("LB policy %s: childPolicy: %w", wrrLocality, err)
	}
	return child, nil
}

func (p *localities) start() *locality {
	c := &locality{state: node.Connecting()}
	c.policy = p.child(p.env, func(s balancer.State) {
		c.state = node.Sticky(c.state, s)
		p.settle()
	})
	return c
}

// settle reports the combined state of the localities, or the error of an unusable configuration.
func (p *localities) settle() {
	switch {
	case p.busy:
		return
	case p.err != nil:
		p.report(node.Failure(p.err))
		return
	}
	var tally node.Tally
	for _, c := range p.order {
		tally.Add(c.state.ConnectivityState)
	}
	s := balancer.State{ConnectivityState: tally.State(), Picker: node.Queue{}}
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
	p.busy = true
	for _, c := range p.order {
		c.policy.Close()
	}
}
