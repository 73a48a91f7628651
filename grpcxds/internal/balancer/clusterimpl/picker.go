package clusterimpl

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/breaker"
	"github.com/xdsforge/xdsforge/grpcxds/internal/rpcinfo"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A picker drops calls, breaks the circuit, and counts what it lets through. It takes no
// lock, and allocates only for calls that fail.
type picker struct {
	name string
	// note is said beside every error (A88); nil: nothing.
	note    error
	drops   []endpoint.Drop
	breaker *breaker.Counter
	most    uint32
	load    *load.Cluster // nil: load is not reported
	// child picks the endpoint.
	child balancer.State
}

const million = 1_000_000

// Pick implements [balancer.Picker].
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	// A call that has to wait is picked for again; it must not be dropped at each time.
	if p.child.ConnectivityState == connectivity.Ready {
		for i := range p.drops {
			if d := &p.drops[i]; rand.Uint32N(million) < d.PerMillion {
				return balancer.PickResult{}, p.drop(d.Category, "dropped, as the control plane demands")
			}
		}
	}
	if !p.breaker.Start(p.most) {
		return balancer.PickResult{}, p.drop("", "too many calls are in flight")
	}
	r, err := p.child.Picker.Pick(info)
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
	if a.breaker != p.breaker { // the cluster has another EDS resource since the picker was made
		p.breaker.End()
		a.breaker.Start(^uint32(0))
	}
	a.start()
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

// rewrite asks for the endpoint's own authority, if the route of the call does (A81).
func (p *picker) rewrite(info balancer.PickInfo, a *account, r *balancer.PickResult) {
	c := rpcinfo.From(info.Ctx)
	if c == nil || !c.AutoHostRewrite {
		return
	}
	if r.Metadata == nil {
		r.Metadata = a.authority
		return
	}
	r.Metadata = maps.Clone(r.Metadata)
	maps.Copy(r.Metadata, a.authority)
}

// drop counts a call that is not made.
func (p *picker) drop(category, reason string) error {
	if p.load != nil {
		p.load.Drop(category)
	}
	return &dropError{status.Newf(codes.Unavailable, "cluster %s: %s", printable.Quote(p.name, printable.Short), reason)}
}

// A dropError is the status of a call that is not made. As it is a status, gRPC does not
// have the call wait until the endpoints are ready, nor retry it.
type dropError struct{ status *status.Status }

// Error is what that of a status is.
func (e *dropError) Error() string { return e.status.Err().Error() }

// GRPCStatus makes it a status.
func (e *dropError) GRPCStatus() *status.Status { return e.status }

// Dropped has the retries of a route (A44) leave the call alone (A32).
func (e *dropError) Dropped() bool { return true }

// explain says which cluster an error is of. A status is a policy's own word, and stays.
func (p *picker) explain(err error) error {
	if errors.Is(err, balancer.ErrNoSubConnAvailable) {
		return balancer.ErrNoSubConnAvailable
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return explained(p.name, err, p.note)
}

// explained is an error of a cluster, with what is to be said beside it. What it wraps is
// text only: a control plane's status must not become that of a call (A54).
func explained(name string, err, note error) error {
	text := printable.Text(err.Error(), printable.Whole)
	if note != nil {
		text += " (" + printable.Text(note.Error(), printable.Whole) + ")"
	}
	return fmt.Errorf("cluster %s: %s", printable.Quote(name, printable.Short), text)
}
