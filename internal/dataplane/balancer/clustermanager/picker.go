package clustermanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A slot has the newest picker of a child.
type slot struct {
	picker atomic.Pointer[balancer.Picker]
}

func (s *slot) set(p balancer.Picker) { s.picker.Store(&p) }

// A routePicker picks with the child of the call's cluster. For routed calls it takes no lock and does
// not allocate. Only a change of the set of children makes a new map.
type routePicker struct {
	// cluster is the cluster of all calls. If it is empty, each call's route selects it.
	cluster  string
	children map[string]*slot
	where    string // the prefix of errors
	route    func(ctx context.Context, method string) (call *lbtree.Call, release func(), err error)
}

var errNoRoute = errors.New("the call has no route; use a channel of grpcxds")

// Pick implements [balancer.Picker].
func (p *routePicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	c := lbtree.CallOf(info.Ctx)
	if c != nil && c.Attempts != nil {
		c.Attempts.Picking()
	}
	switch {
	case p.cluster != "":
		return p.pick(p.cluster, c, info)
	case c == nil:
		return p.pickRouted(info)
	case c.Authority != nil:
		return p.pickAuthority(c, info)
	}
	return p.pick(c.Cluster, c, info)
}

// pickAuthority picks for a call, and sets the authority of its route (A111).
func (p *routePicker) pickAuthority(c *lbtree.Call, info balancer.PickInfo) (balancer.PickResult, error) {
	r, err := p.pick(c.Cluster, c, info)
	if err == nil && c.Authority != nil {
		setAuthority(&r, c.Authority)
	}
	return r, err
}

// setAuthority adds an authority to the metadata that gRPC sends. authority is shared.
func setAuthority(r *balancer.PickResult, authority metadata.MD) {
	if r.Metadata == nil {
		r.Metadata = authority
		return
	}
	r.Metadata = maps.Clone(r.Metadata)
	maps.Copy(r.Metadata, authority)
}

// pick picks with a child for a call, or nil.
func (p *routePicker) pick(name string, c *lbtree.Call, info balancer.PickInfo) (balancer.PickResult, error) {
	s, ok := p.children[name]
	if !ok {
		return balancer.PickResult{}, p.withTarget(clusterError(name, errUnknown, nil))
	}
	picker := *s.picker.Load()
	var r balancer.PickResult
	var err error
	if leaf, ok := picker.(*clusterPicker); ok && c != nil && c.Affinity != nil {
		r, err = leaf.pick(info, c.Affinity)
	} else {
		r, err = picker.Pick(info)
	}
	if err != nil {
		return balancer.PickResult{}, p.withTarget(err)
	}
	return r, nil
}

// pickRouted routes a call that no interceptor has routed, and picks.
func (p *routePicker) pickRouted(info balancer.PickInfo) (balancer.PickResult, error) {
	if p.route == nil {
		return balancer.PickResult{}, errNoRoute
	}
	c, release, err := p.route(info.Ctx, info.FullMethodName)
	if err != nil {
		return balancer.PickResult{}, err
	}
	info.Ctx = lbtree.WithCall(info.Ctx, c)
	r, err := p.pickAuthority(c, info)
	if err != nil {
		release()
		return r, err
	}
	done := r.Done
	r.Done = func(d balancer.DoneInfo) {
		release()
		if done != nil {
			done(d)
		}
	}
	return r, nil
}

// withTarget adds the target to an error. A call that must not be retried keeps that property.
func (p *routePicker) withTarget(err error) error {
	switch st, ok := status.FromError(err); {
	case errors.Is(err, balancer.ErrNoSubConnAvailable), p.where == "":
		return err
	case ok:
		out := &statusError{status: status.Newf(st.Code(), "%s: %s", p.where, st.Message())}
		if e := (*statusError)(nil); errors.As(err, &e) {
			out.overflow = e.overflow
		}
		return out
	default:
		return fmt.Errorf("%s: %w", p.where, err)
	}
}

// reporting returns a configuration in which all clusters report their load to a server.
func reporting(c *xdsconfig.Config, server *bootstrap.Server) *xdsconfig.Config {
	out := *c
	out.Clusters = maps.Clone(c.Clusters)
	for name, cluster := range out.Clusters {
		if cluster.Update != nil {
			u := *cluster.Update
			u.LoadReports = server
			cluster.Update = &u
			out.Clusters[name] = cluster
		}
	}
	return &out
}

// A clusterPicker drops calls, breaks the circuit, and counts the other calls. It takes no lock, and
// allocates only for calls that fail.
type clusterPicker struct {
	name string
	// note is added to every error (A88), unless it is nil.
	note    error
	drops   []endpoint.Drop
	breaker *breaker.Counter
	most    uint32
	circuit *breaker.Circuit // nil for gRPC channels
	load    *load.Cluster    // nil: load is not reported
	dropped []*atomic.Uint64 // a counter for each of drops
	refused *atomic.Uint64   // counts calls above most
	// child picks the endpoint, unless the call has a session.
	child balancer.State
	conn  *clusterConn
	// find finds the telemetry of a call, which gets labels before the call has an endpoint.
	find   labels.Finder
	labels map[string]string
}

const million = 1_000_000

// Pick implements [balancer.Picker].
func (p *clusterPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	return p.pick(info, nil)
}

// pick picks for a call that may have a session.
func (p *clusterPicker) pick(info balancer.PickInfo, session *lbtree.Affinity) (balancer.PickResult, error) {
	update := p.find.In(info.Ctx)
	if update != nil {
		update(p.labels)
	}
	// A waiting call is picked for again. Each call must be considered for dropping only once.
	considered := session != nil && session.Considered
	if p.child.ConnectivityState == connectivity.Ready && !considered {
		for i := range p.drops {
			if d := &p.drops[i]; rand.Uint32N(million) < d.PerMillion {
				p.dropped[i].Add(1)
				return balancer.PickResult{}, p.drop(d.Category, "dropped, as the control plane demands", false)
			}
		}
		considered = true
	}
	if !p.breaker.Start(p.most) {
		p.refused.Add(1)
		return balancer.PickResult{}, p.drop("", "too many calls are in flight", true)
	}
	var r balancer.PickResult
	var err error
	if session == nil {
		r, err = p.child.Picker.Pick(info)
	} else {
		r, err = p.conn.pickFor(session, info, p.child.Picker)
		session.Considered = considered && errors.Is(err, balancer.ErrNoSubConnAvailable)
	}
	if err != nil {
		p.breaker.End()
		return r, p.explain(err)
	}
	sc, ok := r.SubConn.(*subConn)
	if !ok {
		p.breaker.End()
		return r, nil
	}
	a := sc.account.Load()
	if a.breaker != p.breaker { // the cluster has changed its EDS resource since this picker was made
		p.breaker.End()
		a.breaker.Start(^uint32(0))
	}
	a.start()
	if update != nil {
		update(a.labels)
	}
	r.SubConn = sc.SubConn
	if a.authority != nil {
		p.rewrite(info, a, &r)
	}
	if child := r.Done; child != nil {
		r.Done = func(info balancer.DoneInfo) {
			child(info)
			a.finish(info)
		}
	} else {
		r.Done = a.done
	}
	return r, nil
}

// rewrite sets the endpoint's authority, if the call's route asks for it (A81).
func (p *clusterPicker) rewrite(info balancer.PickInfo, a *account, r *balancer.PickResult) {
	c := lbtree.CallOf(info.Ctx)
	if c == nil || !c.AutoHostRewrite {
		return
	}
	setAuthority(r, a.authority)
}

// drop counts a dropped call.
func (p *clusterPicker) drop(category, reason string, overflow bool) error {
	if p.load != nil {
		p.load.Drop(category)
	}
	return &statusError{status.Newf(codes.Unavailable, "cluster %s: %s", printable.Quote(p.name, printable.Short), reason), overflow}
}

// A statusError is the status of a call that a picker ends. Because it is a status, gRPC neither
// makes the call wait for ready endpoints nor retries it.
type statusError struct {
	status *status.Status
	// overflow says that a circuit breaker ends the call.
	overflow bool
}

// Error returns the error text of the status.
func (e *statusError) Error() string { return e.status.Err().Error() }

// GRPCStatus returns the status.
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// Overflow reports whether a circuit breaker ends the call, for HTTP clients.
func (e *statusError) Overflow() bool { return e.overflow }

// Dropped prevents retries by the route's policy (A44, A32).
func (e *statusError) Dropped() bool { return true }

// explain adds the cluster to an error. It does not change the status of a policy.
func (p *clusterPicker) explain(err error) error {
	if errors.Is(err, balancer.ErrNoSubConnAvailable) {
		if p.circuit != nil {
			return lbtree.WaitingError{Circuit: p.circuit}
		}
		return balancer.ErrNoSubConnAvailable
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return clusterError(p.name, err, p.note)
}

// clusterError returns an error of a cluster, with its note unless that is nil. It keeps only the text of err, so that a
// control plane's status does not become the status of a call (A54).
func clusterError(name string, err, note error) error {
	text := printable.Text(err.Error(), printable.Whole)
	if note != nil {
		text += " (" + printable.Text(note.Error(), printable.Whole) + ")"
	}
	return fmt.Errorf("cluster %s: %s", printable.Quote(name, printable.Short), text)
}
