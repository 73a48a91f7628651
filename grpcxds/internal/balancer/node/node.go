// Package node is what the policies of the tree have in common: what goes down to them, and
// how they report. A tree belongs to a [serial.Loop]; everything here happens on it, but the
// picks.
package node

import (
	"slices"
	"strings"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/serial"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A Policy is a node of the tree. It reports a state whenever that changes, until Close.
// What it cannot do is a state as well: TRANSIENT_FAILURE, with a picker that says why.
type Policy interface {
	// Update replaces what the policy picks from, and how.
	Update(Target)
	// ExitIdle connects what is idle.
	ExitIdle()
	// Close ends the policy, its subchannels and its reports.
	Close()
}

// A Report takes a policy's new state, on the loop. It may be called while the policy is
// built or updated, too, so that a parent who is at work must be prepared for it. A policy
// may be closed by it, and does nothing after it.
type Report func(balancer.State)

// A Target is what one priority of a cluster is: where its calls may go and how one is
// chosen.
type Target struct {
	Policy     resource.LBConfig
	Localities []Locality
	// Chooses says that the policy chooses clusters, and needs no localities.
	Chooses bool
}

// A Locality is a group of endpoints, each of which is usable by its health (A27).
type Locality struct {
	ID endpoint.LocalityID
	// Weight is the share of the priority's calls, not 0.
	Weight    uint32
	Endpoints []Endpoint
}

// An Endpoint is a server.
type Endpoint struct {
	// Endpoint has the addresses, first choice first, as connections to them are made.
	resolver.Endpoint
	// Weight is the share of the locality's calls, not 0.
	Weight uint32
	// HashKey places the endpoint on a ring, instead of its first address, if not empty (A76).
	HashKey string
	// Hostname is the endpoint's name, if it has one (A81).
	Hostname string
}

// Key is what the endpoint is known by: the set of its addresses (A61).
func (e *Endpoint) Key() string {
	if len(e.Addresses) == 1 {
		return e.Addresses[0].Addr
	}
	set := make([]string, 0, len(e.Addresses))
	for _, a := range e.Addresses {
		set = append(set, a.Addr)
	}
	slices.Sort(set)
	return strings.Join(set, "\n")
}

// An Env is what the policies of one cluster have around them.
type Env struct {
	Loop *serial.Loop
	// Conn makes subchannels, whose state listeners it calls on the loop, and resolves again.
	// States are not reported to it.
	Conn balancer.ClientConn
	// Options are those of the tree's root.
	Options balancer.BuildOptions
	// Attributes are what registered policies get with the resolver's state; nil: nothing.
	Attributes *attributes.Attributes
	// RingSizeCap is the most that any ring may have; 0: what gRFC A42 says.
	RingSizeCap uint64
}

// Connecting is the state of what has only been started.
func Connecting() balancer.State {
	return balancer.State{ConnectivityState: connectivity.Connecting, Picker: Queue{}}
}

// Failure is the state of what cannot be used.
func Failure(err error) balancer.State {
	return balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: Fail{err}}
}

// Queue is a picker that has calls wait for the next one.
type Queue struct{}

// Pick returns [balancer.ErrNoSubConnAvailable].
func (Queue) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

// Fail is a picker that has calls fail.
type Fail struct{ Err error }

// Pick returns the error.
func (f Fail) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, f.Err
}
