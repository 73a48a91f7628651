// Package lbtree has the types that the parts of an LB tree share. The resolver passes a [State] to
// it, and the interceptors pass a [Call]. The policies have targets and report states. A tree
// belongs to a [serial.Loop]. Everything here runs on it, except picks.
package lbtree

import (
	"slices"
	"strings"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A Policy is an LB policy of the tree. It reports every change of its state, until Close. It reports
// errors as a state too: TRANSIENT_FAILURE, with a picker that returns the error.
type Policy interface {
	// Update replaces the endpoints and the configuration of the policy.
	Update(Target)
	// ExitIdle connects idle endpoints.
	ExitIdle()
	// Describe sets the error and the children of a description. It changes nothing.
	Describe(*dataplane.Policy)
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
	Weight uint32
	// Endpoints are immutable. An endpoint that an update does not change is the same pointer as before.
	Endpoints []*Endpoint
	// Total is the sum of the weights of all endpoints of the locality, if Endpoints is a subset of
	// them (A68). 0: Endpoints has them all.
	Total uint64
}

// Sum returns the sum of the weights of all endpoints of the locality.
func (l *Locality) Sum() uint64 {
	if l.Total != 0 {
		return l.Total
	}
	var sum uint64
	for i := range l.Endpoints {
		sum += uint64(l.Endpoints[i].Weight)
	}
	return sum
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

// Address returns the address that LB policies distinguish endpoints by, the first one. It is "" if there is none.
func (e *Endpoint) Address() string {
	if len(e.Addresses) == 0 {
		return ""
	}
	return e.Addresses[0].Addr
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
	return KeyOf(set)
}

// KeyOf is [Endpoint.Key] for the addresses of an endpoint. It sorts a copy.
func KeyOf(addresses []string) string {
	if len(addresses) == 1 {
		return addresses[0]
	}
	return strings.Join(slices.Sorted(slices.Values(addresses)), "\n")
}

// An Env is the environment of the policies of one tree, or of one cluster in it.
type Env struct {
	Loop *serial.Loop
	// Conn makes subchannels and resolves names again. It calls the subchannels' state listeners on
	// the loop, except for the Conn of the whole tree. Policies do not report states to it.
	Conn balancer.ClientConn
	// Options are the options of the tree's root.
	Options balancer.BuildOptions
	// Labels passes labels to the telemetry of calls. Nil: calls have none.
	Labels labels.Finder
	// Cluster is the leaf cluster of the policies, or "".
	Cluster string
	// State is the newest state of the resolver, with Breakers and a Logger. Only its Config
	// changes.
	State *State
	// Attributes are the attributes of the resolver's state for registered policies, or nil. The
	// policies of clusters get none, because policies that keep them would keep old configurations.
	Attributes *attributes.Attributes
}

// A Batch reports the changes of several children once. The loop owns it.
type Batch struct {
	// Report reports the state of the policy to its parent.
	Report   func()
	updating bool
}

// Pause runs f. Changes within it are not reported.
func (b *Batch) Pause(f func()) {
	outer := b.updating
	b.updating = true
	f()
	b.updating = outer
}

// Update runs f, and reports its changes together.
func (b *Batch) Update(f func()) {
	b.Pause(f)
	b.Changed()
}

// Changed reports a change of a child, unless the policy is updating its children.
func (b *Batch) Changed() {
	if !b.updating {
		b.Report()
	}
}

// Close ends the reports.
func (b *Batch) Close() { b.updating = true }

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

// A Tally counts the children of a policy by state. It gives the state of a policy that uses all of
// them (A28): READY if one is, else CONNECTING if one is, else IDLE if one is, else
// TRANSIENT_FAILURE.
type Tally struct {
	counts [connectivity.Shutdown + 1]int
}

// Add counts a child.
func (t *Tally) Add(s connectivity.State) { t.counts[s]++ }

// Remove undoes Add.
func (t *Tally) Remove(s connectivity.State) { t.counts[s]-- }

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

// one is 1 in the fixed-point numbers of gRFC A113, which have 31 fractional bits of 32.
const one = 1 << 31

// A Weighted is an endpoint with its share of all calls of a priority.
type Weighted struct {
	Endpoint
	// Share is in 1/2³¹ of all calls, at least 1 (A113).
	Share uint32
}

// Flatten returns one list of the endpoints of all localities, with their shares.
func Flatten(localities []Locality) []Weighted {
	shares := Shares(localities)
	out := make([]Weighted, 0, len(shares))
	for i, e := range List(localities) {
		out = append(out, Weighted{Endpoint: *e, Share: shares[i]})
	}
	return out
}

// Shares returns the shares of the endpoints of all localities. The share of an endpoint is the
// share of its locality times its own share in the locality (A113).
func Shares(localities []Locality) []uint32 {
	var all uint64
	for i := range localities {
		all += uint64(localities[i].Weight)
	}
	out := make([]uint32, 0, Count(localities))
	for i := range localities {
		l := &localities[i]
		sum, share := l.Sum(), normal(l.Weight, all)
		for j := range l.Endpoints {
			product := share * normal(l.Endpoints[j].Weight, sum) / one
			out = append(out, uint32(max(product, 1))) //nolint:gosec // at most one
		}
	}
	return out
}

// Count returns the number of endpoints of all localities.
func Count(localities []Locality) int {
	n := 0
	for i := range localities {
		n += len(localities[i].Endpoints)
	}
	return n
}

// List returns the endpoints of all localities. Nobody may change the list.
func List(localities []Locality) []*Endpoint {
	if len(localities) == 1 {
		return localities[0].Endpoints
	}
	list := make([]*Endpoint, 0, Count(localities))
	for i := range localities {
		list = append(list, localities[i].Endpoints...)
	}
	return list
}

// normal returns the share of a weight in a sum, in fixed point.
func normal(weight uint32, sum uint64) uint64 {
	return uint64(weight) * one / max(sum, 1)
}
