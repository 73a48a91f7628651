// Package node has the common types of the policies of the tree: the targets that they are given,
// and the states that they report. A tree belongs to a [serial.Loop]. Everything here runs on it,
// except picks.
package node

import (
	"slices"
	"strings"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A Policy is a node of the tree. It reports every change of its state, until Close. It reports
// errors as a state too: TRANSIENT_FAILURE, with a picker that returns the error.
type Policy interface {
	// Update replaces the endpoints and the configuration of the policy.
	Update(Target)
	// ExitIdle connects idle endpoints.
	ExitIdle()
	// Close ends the policy, its subchannels and its reports.
	Close()
}

// A Report takes a policy's new state, on the loop. A policy may call it while it is built or
// updated, so the parent must handle that. The parent may close the policy within it, and the
// policy does nothing afterwards.
type Report func(balancer.State)

// A Target has the endpoints of one priority of a cluster, and the policy that picks among them.
type Target struct {
	Policy     resource.LBConfig
	Localities []Locality
	// Chooses says that the policy chooses clusters, and needs no localities.
	Chooses bool
}

// A Locality is a group of endpoints. The health of each allows its use (A27).
type Locality struct {
	ID endpoint.LocalityID
	// Weight is the share of the priority's calls, not 0.
	Weight    uint32
	Endpoints []Endpoint
}

// An Endpoint is a server.
type Endpoint struct {
	// Endpoint has the addresses in order of preference, with the attributes for connections.
	resolver.Endpoint
	// Weight is the share of the locality's calls, not 0.
	Weight uint32
	// HashKey places the endpoint on a ring, instead of its first address, if not empty (A76).
	HashKey string
	// Hostname is the endpoint's name, if it has one (A81).
	Hostname string
}

// Key identifies the endpoint by the set of its addresses (A61).
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

// An Env is the environment of the policies of one cluster.
type Env struct {
	Loop *serial.Loop
	// Conn makes subchannels and resolves names again. It calls the subchannels' state listeners on
	// the loop. Policies do not report states to it.
	Conn balancer.ClientConn
	// Options are the options of the tree's root.
	Options balancer.BuildOptions
	// Attributes are the attributes of the resolver's state for registered policies, or nil.
	Attributes *attributes.Attributes
	// RingSizeCap is the limit of any ring's size; 0: the default of gRFC A42.
	RingSizeCap uint64
}

// Connecting returns the state of a policy that has just started.
func Connecting() balancer.State {
	return balancer.State{ConnectivityState: connectivity.Connecting, Picker: Queue{}}
}

// Failure returns the state of a policy that cannot be used.
func Failure(err error) balancer.State {
	return balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: Fail{err}}
}

// Queue is a picker that makes calls wait for the next picker.
type Queue struct{}

// Pick returns [balancer.ErrNoSubConnAvailable].
func (Queue) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

// Fail is a picker that makes calls fail.
type Fail struct{ Err error }

// Pick returns the error.
func (f Fail) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, f.Err
}
