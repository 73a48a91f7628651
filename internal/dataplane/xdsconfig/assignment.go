package xdsconfig

import (
	"errors"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// static returns a cluster that has its endpoints itself.
func (w *traversal) static(n *clusterWatch, endpoints resource.Update) Cluster {
	e, ok := endpoints.(*endpoint.Update)
	if !ok {
		return Cluster{Err: errUndiscovered}
	}
	return Cluster{Update: n.update, Localities: e.Localities, Drops: e.Drops, Note: w.note(n.ambient)}
}

// maxNames is the limit of the DNS names of a cluster. Each has a goroutine.
const maxNames = 1000

var errTooManyNames = errors.New("xdsconfig: the cluster has more than 1000 DNS names")

// strictDNS derives the entry of a cluster whose endpoints are DNS names. It returns false if some of them are not resolved
// yet.
func (w *traversal) strictDNS(name string, n *clusterWatch, d cluster.StrictDNS) (complete bool) {
	e, ok := d.Endpoints.(*endpoint.Update)
	names := 0
	if ok {
		for i := range e.Localities {
			names += len(e.Localities[i].Endpoints)
		}
	}
	if !ok || names > maxNames {
		w.derive(name, n, 0, func() Cluster { return Cluster{Err: errTooManyNames} })
		return true
	}
	var newest uint64
	var errs []error
	complete = true
	for i := range e.Localities {
		for j := range e.Localities[i].Endpoints {
			a := w.watchName(e.Localities[i].Endpoints[j].Address())
			complete = complete && a.known
			newest = max(newest, a.version)
			errs = append(errs, a.err)
		}
	}
	if complete {
		w.derive(name, n, newest, func() Cluster {
			return Cluster{Update: n.update, Localities: w.resolved(e), Drops: e.Drops, Note: w.note(append(errs, n.ambient)...)}
		})
	}
	return complete
}

// resolved returns localities with an endpoint for each address of their names. An address is used once.
func (w *traversal) resolved(e *endpoint.Update) []endpoint.Locality {
	seen := make(map[string]bool)
	out := make([]endpoint.Locality, 0, len(e.Localities))
	for i := range e.Localities {
		l := e.Localities[i]
		l.Endpoints = nil
		for j := range e.Localities[i].Endpoints {
			l.Endpoints = append(l.Endpoints, w.addressesOf(&e.Localities[i].Endpoints[j], seen)...)
		}
		out = append(out, l)
	}
	return out
}

func (w *traversal) addressesOf(e *endpoint.Endpoint, seen map[string]bool) (out []endpoint.Endpoint) {
	name := e.Address()
	for _, l := range w.watchName(name).localities {
		for i := range l.Endpoints {
			for addr := range l.Endpoints[i].Addresses() {
				if seen[addr] {
					continue
				}
				seen[addr] = true
				one := endpoint.New(addr)
				one.Health, one.Weight = e.Health, e.Weight
				one.Details = &endpoint.Details{Hostname: name, Metadata: e.Metadata()}
				if e.Hostname() != "" {
					one.Details.Hostname = e.Hostname()
				}
				out = append(out, one)
			}
		}
	}
	return out
}
