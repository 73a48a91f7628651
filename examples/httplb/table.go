package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/lrs"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

var (
	errNoRoute    = errors.New("no route")
	errNoEndpoint = errors.New("no endpoint can be used")
)

// A DroppedError says that a request was not sent, because the control plane wants fewer.
type DroppedError struct {
	Category string // of the drop; empty: too many requests are in flight
}

// Error names the category.
func (e *DroppedError) Error() string {
	if e.Category == "" {
		return "too many requests are in flight"
	}
	return "dropped by " + e.Category
}

// stores says where load is counted that is to be reported to a server: the client does.
type stores interface {
	LoadStore(server *bootstrap.Server) (*lrs.Store, error)
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
	load     *lrs.Cluster
	drops    []endpoint.Drop
	max      int64 // requests in flight
	inFlight *atomic.Int64
	zones    choice[*zone]
}

// A zone is a locality, with the addresses that can be used.
type zone struct {
	load      *lrs.Locality
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
		t.routes, t.err = referred[*route.Update](s, l, route.Type())
	case listener.Inline:
		t.routes, _ = r.Config.(*route.Update)
	}
	for ref, state := range s.All() {
		if ref.Type != cluster.Type().Name {
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
func referred[U resource.Update](s *tree.Snapshot, u resource.Update, t *resource.Type) (U, error) {
	for r := range u.Refs() {
		if r.Type == t.Name {
			return tree.Get[U](s, r)
		}
	}
	var none U
	return none, fmt.Errorf("%q refers to no %s", u.Name(), t.ShortName())
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
	endpoints, err := referred[*endpoint.Update](s, u, endpoint.Type())
	if err != nil {
		return err
	}
	store := lrs.NewStore(nil) // which nobody is told of
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
				b.add(l, lrs.Propagation(u.ReportMetrics))
			}
		}
	}
	return nil
}

func (b *backend) add(l endpoint.Locality, p lrs.Propagation) {
	z := new(zone)
	for _, e := range l.Endpoints {
		if e.Health == endpoint.HealthHealthy || e.Health == endpoint.HealthUnknown {
			z.addresses.add(e.Addresses[0], e.Weight)
		}
	}
	if z.addresses.total() > 0 {
		z.load = b.load.Locality(lrs.LocalityID(l.ID), p)
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

// A pick is a request that is about to be sent. It counts as started.
type pick struct {
	address string
	zone    *zone
	backend *backend
}

func (p *pick) finish(err error, m *lrs.Metrics) {
	p.backend.inFlight.Add(-1)
	p.zone.load.CallFinished(err, m)
}

// pick decides where a request goes.
func (t *table) pick(r *http.Request) (*pick, error) {
	if t.err != nil {
		return nil, t.err
	}
	host := t.routes.VirtualHost(r.URL.Host)
	if host == nil {
		return nil, fmt.Errorf("host %q: %w", r.URL.Host, errNoRoute)
	}
	match := host.Match(r.URL.Path, headers(r.Header))
	if match == nil {
		return nil, fmt.Errorf("path %q: %w", r.URL.Path, errNoRoute)
	}
	name, err := clusterOf(match)
	if err != nil {
		return nil, err
	}
	b := t.backends[name]
	if b == nil {
		return nil, fmt.Errorf("cluster %q: %w", name, errNoRoute)
	}
	p, err := b.pick()
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w", name, err)
	}
	return p, nil
}

// clusterOf is the cluster that a route leads to.
func clusterOf(r *route.Route) (string, error) {
	switch a := r.Action.(type) {
	case route.Cluster:
		return a.Name, nil
	case route.WeightedClusters:
		var c choice[string]
		for _, w := range a.Clusters {
			c.add(w.Name, w.Weight)
		}
		if name, ok := c.pick(); ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w that leads to a cluster", errNoRoute)
}

// pick drops as the control plane says (gRFC A27) and beyond the limit of requests in
// flight (gRFC A32), and chooses a locality, then an endpoint, by their weights.
func (b *backend) pick() (*pick, error) {
	if b.err != nil {
		return nil, b.err
	}
	for _, d := range b.drops {
		if rand.Uint32N(1_000_000) < d.PerMillion {
			b.load.Drop(d.Category)
			return nil, &DroppedError{d.Category}
		}
	}
	z, ok := b.zones.pick()
	if !ok {
		return nil, errNoEndpoint
	}
	if b.inFlight.Add(1) > b.max {
		b.inFlight.Add(-1)
		b.load.Drop("")
		return nil, &DroppedError{}
	}
	address, _ := z.addresses.pick()
	z.load.CallStarted()
	return &pick{address, z, b}, nil
}

// headers are a request's, as routes look at them.
type headers http.Header

// Values implements [route.Headers].
func (h headers) Values(name string) []string { return http.Header(h).Values(name) }
