package clustermanager

import (
	"cmp"
	"slices"
	"strconv"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// usable reports whether the health of an endpoint allows calls (A27).
func usable(h endpoint.Health) bool {
	return h == endpoint.HealthUnknown || h == endpoint.HealthHealthy
}

// byPriority groups localities by priority, the best first. Each group keeps the order of the
// control plane.
func byPriority(localities []endpoint.Locality) [][]*endpoint.Locality {
	order := make([]*endpoint.Locality, 0, len(localities))
	for i := range localities {
		order = append(order, &localities[i])
	}
	slices.SortStableFunc(order, func(a, b *endpoint.Locality) int { return cmp.Compare(a.Priority, b.Priority) })
	var out [][]*endpoint.Locality
	for i, l := range order {
		if i == 0 || order[i-1].Priority != l.Priority {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], l)
	}
	return out
}

// A dialer sets the attributes of endpoints' addresses: the TLS, if tls is not nil (A29), and the
// proxies, if proxied (A86).
type dialer struct {
	tls     *security.Cluster
	proxied bool
	// plain are the attributes of addresses without a hostname and a proxy.
	plain *attributes.Attributes
}

func newDialer(tls *security.Cluster, proxied bool) *dialer {
	d := &dialer{tls: tls, proxied: proxied}
	if tls != nil {
		d.plain = security.WithCluster(resolver.Address{}, tls, "").Attributes
	}
	return d
}

// localities returns the localities of a priority with their usable endpoints. It omits localities
// without usable endpoints.
func (d *dialer) localities(from []*endpoint.Locality) []lbtree.Locality {
	out := make([]lbtree.Locality, 0, len(from))
	for _, l := range from {
		to := lbtree.Locality{ID: l.ID, Weight: max(l.Weight, 1), Endpoints: make([]lbtree.Endpoint, 0, len(l.Endpoints))}
		room := make([]resolver.Address, 0, len(l.Endpoints)) // most endpoints have one address
		for i := range l.Endpoints {
			if e := &l.Endpoints[i]; usable(e.Health) {
				var one lbtree.Endpoint
				one, room = d.endpoint(l, e, room)
				to.Endpoints = append(to.Endpoints, one)
			}
		}
		if len(to.Endpoints) > 0 {
			out = append(out, to)
		}
	}
	return out
}

// endpoint returns an endpoint, whose addresses it appends to room. It returns the room that is left.
func (d *dialer) endpoint(l *endpoint.Locality, e *endpoint.Endpoint, room []resolver.Address) (lbtree.Endpoint, []resolver.Address) {
	out := lbtree.Endpoint{Weight: max(e.Weight, 1), HashKey: e.HashKey(), Hostname: e.Hostname()}
	for addr := range e.Addresses() {
		a := resolver.Address{Addr: addr, Attributes: d.plain}
		if d.tls != nil && out.Hostname != "" {
			a = security.WithCluster(a, d.tls, out.Hostname)
		}
		if proxy := l.Proxy(e); d.proxied && proxy.IsValid() {
			a = security.WithProxy(a, proxy.String())
		}
		room = append(room, a)
	}
	out.Addresses = slices.Clip(room)
	return out, room[len(room):]
}

// priorityNames gives names to the priorities of a cluster. Localities that move to another priority keep
// their name, and so their connections (A56, A37). A name is never used again after its localities
// are gone. The best priorities choose first. The zero value is ready for use.
type priorityNames[L comparable] struct {
	last  [][]L    // the localities of each priority
	names []string // the name of each priority
	next  int
}

// assign returns a name for each priority, given its localities.
func (n *priorityNames[L]) assign(priorities [][]L) []string {
	owner := make(map[L]string)
	for i, localities := range n.last {
		for _, l := range localities {
			if _, ok := owner[l]; !ok {
				owner[l] = n.names[i]
			}
		}
	}
	names := make([]string, len(priorities))
	taken := make(map[string]bool)
	for i, localities := range priorities {
		candidates := make([]string, 0, len(localities)+1)
		if i < len(n.last) && overlap(n.last[i], localities) {
			candidates = append(candidates, n.names[i])
		}
		for _, l := range localities {
			if name, ok := owner[l]; ok {
				candidates = append(candidates, name)
			}
		}
		for _, name := range candidates {
			if !taken[name] {
				names[i] = name
				taken[name] = true
				break
			}
		}
		if names[i] == "" {
			names[i] = strconv.Itoa(n.next)
			n.next++
		}
	}
	n.last, n.names = priorities, names
	return names
}

func overlap[L comparable](a, b []L) bool {
	return slices.ContainsFunc(a, func(l L) bool { return slices.Contains(b, l) })
}
