// Package policy makes the policies that pick the endpoints of a priority, from the configuration
// of the control plane (gRFC A52).
package policy

import (
	"errors"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
)

// ErrNoEndpoints is the error of calls to a target without endpoints.
var ErrNoEndpoints = errors.New("there are no usable endpoints")

// A Switch runs the policy that its targets name. When the name changes, the old policy continues
// with its endpoints until the new one is no longer connecting.
type Switch struct {
	env              *node.Env
	report           node.Report
	build            func(name string, env *node.Env, report node.Report) node.Policy
	current, pending *running
	// busy says that policies are being updated. settle then runs after the update, not for each
	// report.
	busy bool
}

type running struct {
	name   string
	policy node.Policy
	state  balancer.State
}

// New returns a switch without a policy.
func New(env *node.Env, report node.Report) *Switch {
	return &Switch{env: env, report: report, build: build}
}

// Update starts or updates the policy of a target. A target without endpoints closes the policy.
func (s *Switch) Update(t node.Target) {
	if !t.Chooses && !hasEndpoints(t) {
		s.Close()
		s.report(node.Failure(ErrNoEndpoints))
		return
	}
	s.busy = true
	newest := s.pending
	if newest == nil {
		newest = s.current
	}
	if newest == nil || newest.name != t.Policy.Name {
		newest = s.start(t.Policy.Name)
	}
	newest.policy.Update(t)
	s.busy = false
	s.settle()
}

func hasEndpoints(t node.Target) bool {
	for i := range t.Localities {
		if len(t.Localities[i].Endpoints) > 0 {
			return true
		}
	}
	return false
}

// start starts a policy and makes it the newest.
func (s *Switch) start(name string) *running {
	if s.pending != nil {
		s.pending.policy.Close()
	}
	r := &running{name: name, state: node.Connecting()}
	if s.current == nil {
		s.current = r
	} else {
		s.pending = r
	}
	r.policy = s.build(name, s.env, func(state balancer.State) {
		r.state = state
		if r == s.current || r == s.pending {
			s.settle()
		}
	})
	return r
}

// settle switches to the pending policy if it is time, and reports.
func (s *Switch) settle() {
	if s.busy {
		return
	}
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
