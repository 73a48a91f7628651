package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/route"
)

var (
	errNoRoute    = errors.New("no route")
	errNoEndpoint = errors.New("no endpoint can be used")
)

// A DroppedError means that a request was not sent because the control plane configured
// drops.
type DroppedError struct{ Category string }

// Error returns a text with the category.
func (e *DroppedError) Error() string { return "dropped by " + e.Category }

// A table is the part of one snapshot that requests need.
type table struct {
	err      error // the reason if there are no routes
	snapshot *tree.Snapshot
	routes   *route.Update
	backends map[string]*backend // by the name of the cluster
}

// A backend is a cluster and its endpoints, if they are known.
type backend struct {
	err   error // the reason if the endpoints are unknown
	load  *load.Cluster
	drops []endpoint.Drop
	zones []zone
}

// A zone is a locality with its usable endpoints.
type zone struct {
	load      *load.Locality
	weight    uint32
	endpoints []endpoint.Endpoint
}

// newTable builds a table from a snapshot.
func newTable(s *tree.Snapshot, in *xdsforge.Client) *table {
	t := &table{snapshot: s, err: errNoRoute, backends: make(map[string]*backend)}
	for ref, state := range s.All() {
		switch u := state.Update.(type) {
		case *route.Update:
			t.routes, t.err = u, nil
		case *cluster.Update:
			b := new(backend)
			b.err = b.build(s, u, in)
			t.backends[ref.Name.String()] = b
		}
	}
	return t
}

// build finds the endpoints of a cluster. It uses only the highest priority that has usable
// endpoints (gRFC A27).
func (b *backend) build(s *tree.Snapshot, u *cluster.Update, in *xdsforge.Client) error {
	eds, ok := u.Discovery.(cluster.EDS)
	if !ok || u.LoadReports == nil {
		return errors.New("this example supports only EDS clusters that report load")
	}
	var endpoints *endpoint.Update
	for r := range u.Refs() {
		var err error
		if endpoints, err = tree.Get[*endpoint.Update](s, r); err != nil {
			return err
		}
	}
	store, err := in.LoadStore(u.LoadReports)
	if err != nil {
		return err
	}
	b.load, b.drops = store.Cluster(u.Name().String(), eds.ServiceName), endpoints.Drops
	for priority := uint32(0); priority < uint32(len(endpoints.Localities)) && len(b.zones) == 0; priority++ { //nolint:gosec // few
		for _, l := range endpoints.Localities {
			if l.Priority == priority {
				b.add(l, load.Propagation(u.ReportMetrics))
			}
		}
	}
	return nil
}

func (b *backend) add(l endpoint.Locality, p load.Propagation) {
	z := zone{weight: l.Weight}
	for _, e := range l.Endpoints {
		if e.Health == endpoint.HealthHealthy || e.Health == endpoint.HealthUnknown {
			z.endpoints = append(z.endpoints, e)
		}
	}
	if len(z.endpoints) > 0 {
		z.load = b.load.Locality(load.LocalityID(l.ID), p)
		b.zones = append(b.zones, z)
	}
}

// release releases the load counters. No request may be picked afterwards.
func (t *table) release() {
	if t == nil {
		return
	}
	for _, b := range t.backends {
		for _, z := range b.zones {
			z.load.Release()
		}
		if b.load != nil {
			b.load.Release()
		}
	}
}

// pick chooses the endpoint of a request and counts the request as started.
func (t *table) pick(r *http.Request) (address string, counted *load.Locality, err error) {
	if t.err != nil {
		return "", nil, t.err
	}
	host := t.routes.VirtualHost(r.URL.Host)
	if host == nil {
		return "", nil, fmt.Errorf("host %q: %w", r.URL.Host, errNoRoute)
	}
	var name string
	if match := host.Match(r.URL.Path, headers(r.Header)); match != nil {
		switch a := match.Action.(type) {
		case route.Cluster:
			name = a.Name
		case route.WeightedClusters:
			c, _ := choose(a.Clusters, func(c route.WeightedCluster) uint32 { return c.Weight })
			name = c.Name
		}
	}
	b := t.backends[name]
	if b == nil {
		return "", nil, fmt.Errorf("path %q, cluster %q: %w", r.URL.Path, name, errNoRoute)
	}
	if address, counted, err = b.pick(); err != nil {
		return "", nil, fmt.Errorf("cluster %q: %w", name, err)
	}
	return address, counted, nil
}

// pick applies the configured drops (gRFC A27). It then chooses a locality and an endpoint
// by their weights.
func (b *backend) pick() (address string, counted *load.Locality, err error) {
	if b.err != nil {
		return "", nil, b.err
	}
	for _, d := range b.drops {
		if rand.Uint32N(1_000_000) < d.PerMillion {
			b.load.Drop(d.Category)
			return "", nil, &DroppedError{d.Category}
		}
	}
	z, ok := choose(b.zones, func(z zone) uint32 { return z.weight })
	if !ok {
		return "", nil, errNoEndpoint
	}
	e, _ := choose(z.endpoints, func(e endpoint.Endpoint) uint32 { return e.Weight })
	z.load.CallStarted()
	return e.Address(), z.load, nil
}

// choose picks an item at random, in proportion to its weight. It fails without items.
func choose[T any](items []T, weight func(T) uint32) (chosen T, ok bool) {
	var sum float64
	for _, x := range items {
		sum += float64(weight(x))
	}
	n := rand.Float64() * sum
	for _, x := range items {
		if n -= float64(weight(x)); n < 0 {
			return x, true
		}
	}
	return chosen, false
}

// headers implements [route.Headers] for a request.
type headers http.Header

// Values implements [route.Headers].
func (h headers) Values(name string) []string { return http.Header(h).Values(name) }
