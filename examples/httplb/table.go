package main

import (
	"fmt"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// stores says where load is counted that is to be reported to a server: the client does.
type stores interface {
	LoadStore(server *bootstrap.Server) (*load.Store, error)
}

// A table is what requests need of one snapshot.
type table struct {
	err      error // why there are no routes
	routes   *route.Update
	backends map[string]*backend // by the name of the cluster
}

// A backend is a cluster whose endpoints are known, or not.
type backend struct {
	err      error // why they are not
	load     *load.Cluster
	drops    []endpoint.Drop
	max      int64 // requests in flight
	inFlight *atomic.Int64
	zones    choice[*zone]
}

// A zone is a locality, with the addresses that can be used.
type zone struct {
	load      *load.Locality
	addresses choice[string]
}

// newTable makes a table of a snapshot. Clusters go on counting the requests that are in
// flight where the last table counted them.
func newTable(s *tree.Snapshot, in stores, last *table) *table {
	t := &table{backends: make(map[string]*backend)}
	l, ok := s.Root().(*listener.Update)
	if !ok || l.API == nil {
		t.err = errNoRoute
		return t
	}
	switch r := l.API.Routes.(type) {
	case listener.RDS:
		t.routes, t.err = referred(s, l, route.Type())
	case listener.Inline:
		t.routes, _ = r.Config.(*route.Update)
	}
	for ref, state := range s.All() {
		if ref.Type != cluster.Type().Name() {
			continue
		}
		b := &backend{err: state.Err, inFlight: new(atomic.Int64)}
		if old := last.backend(ref.Name.String()); old != nil {
			b.inFlight = old.inFlight
		}
		if u, ok := state.Update.(*cluster.Update); ok {
			b.err = b.build(s, u, in)
		}
		t.backends[ref.Name.String()] = b
	}
	return t
}

// referred is the resource of a type that u refers to.
func referred[U resource.Update](s *tree.Snapshot, u resource.Update, t resource.TypeOf[U]) (U, error) {
	for r := range u.Refs() {
		if r.Type == t.Name() {
			return tree.Get[U](s, r)
		}
	}
	var none U
	return none, fmt.Errorf("%q refers to no %s", u.Name(), t.Name())
}

func (t *table) backend(name string) *backend {
	if t == nil {
		return nil
	}
	return t.backends[name]
}

// build finds the endpoints of a cluster. Only those of the highest priority that has
// any are used (gRFC A27).
func (b *backend) build(s *tree.Snapshot, u *cluster.Update, in stores) error {
	eds, ok := u.Discovery.(cluster.EDS)
	if !ok {
		return fmt.Errorf("cluster %q is no EDS cluster, which is all that this example has", u.Name())
	}
	endpoints, err := referred(s, u, endpoint.Type())
	if err != nil {
		return err
	}
	store := load.NewStore(nil) // which nobody is told of
	if u.LoadReports != nil {
		if store, err = in.LoadStore(u.LoadReports); err != nil {
			return err
		}
	}
	name, service := u.Name().String(), eds.ServiceName
	if service == name {
		service = ""
	}
	b.load = store.Cluster(name, service)
	b.drops, b.max = endpoints.Drops, int64(u.MaxRequests)
	for priority := uint32(0); priority < uint32(len(endpoints.Localities)) && b.zones.total() == 0; priority++ { //nolint:gosec // few
		for _, l := range endpoints.Localities {
			if l.Priority == priority {
				b.add(l, load.Propagation(u.ReportMetrics))
			}
		}
	}
	return nil
}

func (b *backend) add(l endpoint.Locality, p load.Propagation) {
	z := new(zone)
	for _, e := range l.Endpoints {
		if e.Health == endpoint.HealthHealthy || e.Health == endpoint.HealthUnknown {
			z.addresses.add(e.Address(), e.Weight)
		}
	}
	if z.addresses.total() > 0 {
		z.load = b.load.Locality(load.LocalityID(l.ID), p)
		b.zones.add(z, l.Weight)
	}
}

// release gives back what counts the load. No request may be picked any longer.
func (t *table) release() {
	if t == nil {
		return
	}
	for _, b := range t.backends {
		if b.load == nil {
			continue
		}
		b.load.Release()
		for _, z := range b.zones.items {
			z.load.Release()
		}
	}
}
