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
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/rpcinfo"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A picker drops calls, breaks the circuit, and counts the other calls. It takes no lock, and
// allocates only for calls that fail.
type picker struct {
	name string
	// note is added to every error (A88), unless it is nil.
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
	// A waiting call is picked for again. Each call must be considered for dropping only once.
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
	if a.breaker != p.breaker { // the cluster has changed its EDS resource since this picker was made
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

// rewrite sets the endpoint's authority, if the call's route asks for it (A81).
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

// drop counts a dropped call.
func (p *picker) drop(category, reason string) error {
	if p.load != nil {
		p.load.Drop(category)
	}
	return &dropError{status.Newf(codes.Unavailable, "cluster %s: %s", printable.Quote(p.name, printable.Short), reason)}
}

// A dropError is the status of a dropped call. Because it is a status, gRPC neither makes the call
// wait for ready endpoints nor retries it.
type dropError struct{ status *status.Status }

// Error returns the error text of the status.
func (e *dropError) Error() string { return e.status.Err().Error() }

// GRPCStatus returns the status.
func (e *dropError) GRPCStatus() *status.Status { return e.status }

// Dropped prevents retries by the route's policy (A44, A32).
func (e *dropError) Dropped() bool { return true }

// explain adds the cluster to an error. It does not change the status of a policy.
func (p *picker) explain(err error) error {
	if errors.Is(err, balancer.ErrNoSubConnAvailable) {
		return balancer.ErrNoSubConnAvailable
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return explained(p.name, err, p.note)
}

// explained returns an error of a cluster, with its note. It keeps only the text of err, so that a
// control plane's status does not become the status of a call (A54).
func explained(name string, err, note error) error {
	text := printable.Text(err.Error(), printable.Whole)
	if note != nil {
		text += " (" + printable.Text(note.Error(), printable.Whole) + ")"
	}
	return fmt.Errorf("cluster %s: %s", printable.Quote(name, printable.Short), text)
}
