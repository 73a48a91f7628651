package clustermanager

import (
	"errors"
	"maps"
	"sync/atomic"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds/internal/rpcinfo"
	"github.com/xdsforge/xdsforge/grpcxds/internal/xdsconfig"
)

// A slot has the newest picker of a child.
type slot struct {
	picker atomic.Pointer[balancer.Picker]
}

func (s *slot) set(p balancer.Picker) { s.picker.Store(&p) }

// A picker lets the child pick that a call was routed to. It takes no lock and allocates
// nothing. Only what is new in the set of children makes a new map.
type picker struct {
	// cluster is where all calls go; empty: where each was routed to.
	cluster  string
	children map[string]*slot
}

func newPicker(cluster string, children map[string]*entry) *picker {
	p := &picker{cluster: cluster, children: make(map[string]*slot, len(children))}
	for name, e := range children {
		p.children[name] = e.slot
	}
	return p
}

var errNoRoute = errors.New("no route was chosen for the call; must be made through a channel of grpcxds")

// Pick implements [balancer.Picker].
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	name := p.cluster
	if name == "" {
		c := rpcinfo.From(info.Ctx)
		if c == nil {
			return balancer.PickResult{}, errNoRoute
		}
		name = c.Cluster
	}
	s, ok := p.children[name]
	if !ok {
		return balancer.PickResult{}, failed(name, errUnknown)
	}
	return (*s.picker.Load()).Pick(info)
}

// reporting is a configuration in which all clusters report their load to a server.
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
