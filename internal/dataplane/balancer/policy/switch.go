// Package policy makes the policies that pick the endpoints of a priority, from the configuration
// of the control plane (gRFC A52).
package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/balancer"
	// These packages register the policies that internal/extensions/lbpolicy renders.
	_ "google.golang.org/grpc/balancer/leastrequest"
	_ "google.golang.org/grpc/balancer/pickfirst"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// ErrNoEndpoints is the error of calls to a target without endpoints.
var ErrNoEndpoints = errors.New("no usable endpoints")

// A Switch runs the policy that its targets name. When the name changes, the old policy continues
// with its endpoints until the new one is no longer connecting.
type Switch struct {
	env              *lbtree.Env
	report           lbtree.Report
	build            func(name string, env *lbtree.Env, report lbtree.Report) lbtree.Policy
	current, pending *running
	batch            lbtree.Batch
}

type running struct {
	name   string
	policy lbtree.Policy
	state  balancer.State
}

// New returns a switch without a policy.
func New(env *lbtree.Env, report lbtree.Report) *Switch {
	s := &Switch{env: env, report: report, build: build}
	s.batch.Report = s.publish
	return s
}

// Update starts or updates the policy of a target. A target without endpoints closes the policy.
func (s *Switch) Update(t lbtree.Target) {
	if !t.Chooses && !hasEndpoints(t) {
		s.Close()
		s.report(lbtree.Failure(ErrNoEndpoints))
		return
	}
	s.batch.Update(func() {
		newest := cmp.Or(s.pending, s.current)
		if newest == nil || newest.name != t.Policy.Name {
			newest = s.start(t.Policy.Name)
		}
		newest.policy.Update(t)
	})
}

func hasEndpoints(t lbtree.Target) bool {
	return slices.ContainsFunc(t.Localities, func(l lbtree.Locality) bool { return len(l.Endpoints) > 0 })
}

// start starts a policy and makes it the newest.
func (s *Switch) start(name string) *running {
	if s.pending != nil {
		s.pending.policy.Close()
	}
	r := &running{name: name, state: lbtree.Connecting()}
	if s.current == nil {
		s.current = r
	} else {
		s.pending = r
	}
	r.policy = s.build(name, s.env, func(state balancer.State) {
		r.state = state
		if r == s.current || r == s.pending {
			s.batch.Changed()
		}
	})
	return r
}

// publish switches to the pending policy if it is time, and reports.
func (s *Switch) publish() {
	if s.pending != nil && (s.pending.state.ConnectivityState != connectivity.Connecting ||
		s.current.state.ConnectivityState != connectivity.Ready) {
		old := s.current
		s.current, s.pending = s.pending, nil
		old.policy.Close()
	}
	s.report(s.current.state)
}

// ExitIdle connects idle endpoints.
func (s *Switch) ExitIdle() {
	for _, r := range []*running{s.current, s.pending} {
		if r != nil {
			r.policy.ExitIdle()
		}
	}
}

// Close closes the policy. A later Update starts another.
func (s *Switch) Close() {
	for _, r := range []*running{s.current, s.pending} {
		if r != nil {
			r.policy.Close()
		}
	}
	s.current, s.pending = nil, nil
}

// own has the policies of this module. The others come from grpc's registry.
func own(name string) func(env *lbtree.Env, report lbtree.Report) lbtree.Policy {
	switch name {
	case lbpolicy.Random:
		return func(env *lbtree.Env, report lbtree.Report) lbtree.Policy { return newRandom(env, report) }
	case lbpolicy.RandomSubsetting:
		return func(env *lbtree.Env, report lbtree.Report) lbtree.Policy { return newRandomSubsetting(env, report) }
	case lbpolicy.RingHash:
		return func(env *lbtree.Env, report lbtree.Report) lbtree.Policy { return newRingHash(env, report) }
	case lbpolicy.RoundRobin:
		return func(env *lbtree.Env, report lbtree.Report) lbtree.Policy { return newRoundRobin(env, report) }
	case lbpolicy.WeightedRoundRobin:
		return func(env *lbtree.Env, report lbtree.Report) lbtree.Policy { return newWeighted(env, report) }
	case lbpolicy.WRRLocality:
		return func(env *lbtree.Env, report lbtree.Report) lbtree.Policy { return newLocalities(env, report) }
	}
	return nil
}

// known reports whether there is a policy with a name.
func known(name string) bool { return own(name) != nil || balancer.Get(name) != nil }

// build starts the policy with a name.
func build(name string, env *lbtree.Env, report lbtree.Report) lbtree.Policy {
	if start := own(name); start != nil {
		return start(env, report)
	}
	b := balancer.Get(name)
	if b == nil {
		return &broken{report, fmt.Errorf("LB policy %s is not registered (A52)", printable.Quote(name, printable.Short))}
	}
	return newLeaf(env, b, report)
}

var errNoneKnown = errors.New("no LB policy of the list is known")

// first returns the first known policy of a service config's list.
func first(list json.RawMessage) (resource.LBConfig, error) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return resource.LBConfig{}, fmt.Errorf("the list of LB policies: %w", err)
	}
	for _, e := range entries {
		for name, config := range e {
			if known(name) {
				return resource.LBConfig{Name: name, Config: string(config)}, nil
			}
		}
	}
	return resource.LBConfig{}, errNoneKnown
}

// broken replaces a policy that does not exist.
type broken struct {
	report lbtree.Report
	err    error
}

// Update reports the error.
func (b *broken) Update(lbtree.Target) { b.report(lbtree.Failure(b.err)) }

// ExitIdle does nothing.
func (b *broken) ExitIdle() {}

// Close does nothing.
func (b *broken) Close() {}
