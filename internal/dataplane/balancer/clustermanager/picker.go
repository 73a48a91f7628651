package clustermanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/dataplane/rpcinfo"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// A slot has the newest picker of a child.
type slot struct {
	picker atomic.Pointer[balancer.Picker]
}

func (s *slot) set(p balancer.Picker) { s.picker.Store(&p) }

// A picker picks with the child of the call's cluster. For routed calls it takes no lock and does
// not allocate. Only a change of the set of children makes a new map.
type picker struct {
	// cluster is the cluster of all calls. If it is empty, each call's route selects it.
	cluster  string
	children map[string]*slot
	where    string // the prefix of errors
	route    func(ctx context.Context, method string) (call *rpcinfo.Call, release func(), err error)
}

func newPicker(cluster string, state *xdsconfig.State, children map[string]*slot) *picker {
	return &picker{cluster: cluster, children: children, where: state.Where, route: state.Route}
}

var errNoRoute = errors.New("no route was chosen for the call; must be made through a channel of grpcxds")

// Pick implements [balancer.Picker].
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	name := p.cluster
	if name == "" {
		c := rpcinfo.From(info.Ctx)
		if c == nil {
			return p.pickRouted(info)
		}
		name = c.Cluster
	}
	return p.pick(name, info)
}

// pick picks with a child.
func (p *picker) pick(name string, info balancer.PickInfo) (balancer.PickResult, error) {
	s, ok := p.children[name]
	if !ok {
		return balancer.PickResult{}, p.say(failed(name, errUnknown))
	}
	r, err := (*s.picker.Load()).Pick(info)
	if err != nil {
		return balancer.PickResult{}, p.say(err)
	}
	return r, nil
}

// pickRouted routes a call that no interceptor has routed, and picks.
func (p *picker) pickRouted(info balancer.PickInfo) (balancer.PickResult, error) {
	if p.route == nil {
		return balancer.PickResult{}, errNoRoute
	}
	c, release, err := p.route(info.Ctx, info.FullMethodName)
	if err != nil {
		return balancer.PickResult{}, err
	}
	info.Ctx = rpcinfo.With(info.Ctx, c)
	r, err := p.pick(c.Cluster, info)
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

// say adds the target to an error. A call that must not be retried keeps that property.
func (p *picker) say(err error) error {
	switch st, ok := status.FromError(err); {
	case errors.Is(err, balancer.ErrNoSubConnAvailable), p.where == "":
		return err
	case ok:
		return &final{status.Newf(st.Code(), "%s: %s", p.where, st.Message())}
	default:
		return fmt.Errorf("%s: %w", p.where, err)
	}
}

// A final error is the status of a call that must not be retried, like a status from a picker in
// gRPC.
type final struct{ st *status.Status }

// Error implements error.
func (f *final) Error() string { return f.st.Err().Error() }

// GRPCStatus returns the status.
func (f *final) GRPCStatus() *status.Status { return f.st }

// Dropped prevents retries.
func (f *final) Dropped() bool { return true }

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
