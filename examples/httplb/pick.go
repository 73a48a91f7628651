package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/xdsforge/xdsforge/framework/load"
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

// A pick is a request that is about to be sent. It counts as started.
type pick struct {
	address string
	zone    *zone
	backend *backend
}

func (p *pick) finish(err error, m *load.Metrics) {
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
