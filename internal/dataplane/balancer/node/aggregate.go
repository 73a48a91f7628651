package node

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
)

// A Tally counts the children of a policy by state, for the state of a policy that uses all
// of them (A28): READY if one is, else CONNECTING if one is, else IDLE if one is, else
// TRANSIENT_FAILURE.
type Tally struct {
	counts [connectivity.Shutdown + 1]int
}

// Add counts a child.
func (t *Tally) Add(s connectivity.State) { t.counts[s]++ }

// State returns the state of the policy. Without children it is TRANSIENT_FAILURE.
func (t *Tally) State() connectivity.State {
	for _, s := range []connectivity.State{connectivity.Ready, connectivity.Connecting, connectivity.Idle} {
		if t.counts[s] > 0 {
			return s
		}
	}
	return connectivity.TransientFailure
}

// Sticky returns the state to use for a child that reports next. A child that has failed counts as
// failed until it is ready or idle, however often it tries to connect (A62). The newest picker is
// used nevertheless, because the one before may be outdated.
func Sticky(last, next balancer.State) balancer.State {
	if last.ConnectivityState == connectivity.TransientFailure && next.ConnectivityState == connectivity.Connecting {
		next.ConnectivityState = last.ConnectivityState
	}
	return next
}
