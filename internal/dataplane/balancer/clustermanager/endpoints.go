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

// A dialer derives the endpoints of policies from those of the control plane. It sets the attributes
// of addresses: the TLS, if tls is not nil (A29), and the proxies, if proxied (A86). It reuses the
// unchanged endpoints of the last configuration.
type dialer struct {
	tls     *security.Cluster
	proxied bool
	http    lbtree.HTTP // zero for gRPC channels
	// plain are the attributes of addresses without a hostname and a proxy.
	plain *attributes.Attributes
	// drains says that sessions may stay on draining endpoints (A55). draining has these.
	drains   bool
	draining []lbtree.Locality

	last    map[localityKey][]*lbtree.Endpoint
	next    map[localityKey][]*lbtree.Endpoint
	changed changes
}

// A localityKey identifies a locality. A locality may be in several priorities.
type localityKey struct {
	endpoint.LocalityID
	priority uint32
	draining bool // the draining endpoints of the locality
}

// changes are the differences between the endpoints of two configurations. An endpoint may be in both
// lists.
type changes struct {
	added   []addition
	removed []*lbtree.Endpoint
}

type addition struct {
	locality endpoint.LocalityID
	*lbtree.Endpoint
}

func newDialer(tls *security.Cluster, proxied bool) *dialer {
	d := &dialer{tls: tls, proxied: proxied, next: make(map[localityKey][]*lbtree.Endpoint)}
	if tls != nil {
		d.plain = security.WithCluster(resolver.Address{}, tls, "").Attributes
	}
	return d
}

// withHTTP adds the HTTP settings of the cluster.
func (d *dialer) withHTTP(s lbtree.HTTP) *dialer {
	if d.http = s; s != (lbtree.HTTP{}) {
		d.plain = lbtree.WithHTTP(d.plain, s)
	}
	return d
}

// priorities returns the localities of all priorities. It sets draining, too.
func (d *dialer) priorities(from [][]*endpoint.Locality) [][]lbtree.Locality {
	d.last, d.next, d.changed = d.next, make(map[localityKey][]*lbtree.Endpoint), changes{}
	out := make([][]lbtree.Locality, len(from))
	d.draining = nil
	for i, localities := range from {
		out[i] = d.localities(localities, false)
		if d.drains {
			d.draining = append(d.draining, d.localities(localities, true)...)
		}
	}
	for _, gone := range d.last {
		d.changed.removed = append(d.changed.removed, gone...)
	}
	d.last = nil
	return out
}

// localities returns the localities of a priority with their usable endpoints, or with the draining ones. It omits
// localities without such endpoints.
func (d *dialer) localities(from []*endpoint.Locality, draining bool) []lbtree.Locality {
	out := make([]lbtree.Locality, 0, len(from))
	for _, l := range from {
		key := localityKey{l.ID, l.Priority, draining}
		r := reuse{dialer: d, last: d.last[key]}
		n := len(l.Endpoints)
		if draining {
			n = countDraining(l) // few are; each keeps the memory for all n
		}
		to := lbtree.Locality{ID: l.ID, Weight: max(l.Weight, 1), Endpoints: make([]*lbtree.Endpoint, 0, n)}
		var room room
		for i := range l.Endpoints {
			e := &l.Endpoints[i]
			if draining && e.Health != endpoint.HealthDraining || !draining && !usable(e.Health) {
				continue
			}
			if unchanged := r.find(e); unchanged != nil {
				to.Endpoints = append(to.Endpoints, unchanged)
				continue
			}
			if room.endpoints == nil && len(r.last) == 0 {
				room = newRoom(n)
			}
			one := d.endpoint(l, e, &room)
			to.Endpoints = append(to.Endpoints, one)
			d.changed.added = append(d.changed.added, addition{l.ID, one})
		}
		r.remove(len(r.last))
		delete(d.last, key)
		if len(to.Endpoints) > 0 {
			out = append(out, to)
			d.next[key] = to.Endpoints
		}
	}
	return out
}

// countDraining returns the number of draining endpoints of a locality.
func countDraining(l *endpoint.Locality) (n int) {
	for i := range l.Endpoints {
		if l.Endpoints[i].Health == endpoint.HealthDraining {
			n++
		}
	}
	return n
}

// A reuse finds the unchanged endpoints of a locality. Positions before at are done.
type reuse struct {
	dialer *dialer
	last   []*lbtree.Endpoint
	at     int
	misses int // since the last unchanged endpoint
}

// find returns the endpoint of the last configuration that equals e, or nil. It looks where e is if
// endpoints before it were added or replaced, or if one was removed. An unchanged endpoint that it
// does not find costs time, and changes nothing.
func (r *reuse) find(e *endpoint.Endpoint) *lbtree.Endpoint {
	if r.dialer.proxied { // the proxy may have changed
		return nil
	}
	for _, i := range [...]int{r.at, r.at + 1, r.at + r.misses} {
		if i < len(r.last) && unchanged(r.last[i], e) {
			r.remove(i)
			r.at, r.misses = i+1, 0
			return r.last[i]
		}
	}
	r.misses++
	return nil
}

// remove records that the last configuration's endpoints up to a position are not reused.
func (r *reuse) remove(end int) {
	r.dialer.changed.removed = append(r.dialer.changed.removed, r.last[r.at:end]...)
}

// unchanged reports whether an endpoint without a proxy would become the same again.
func unchanged(last *lbtree.Endpoint, e *endpoint.Endpoint) bool {
	if last.Weight != max(e.Weight, 1) || last.Hostname != e.Hostname() || last.HashKey != e.HashKey() {
		return false
	}
	i := 0
	for addr := range e.Addresses() {
		if i == len(last.Addresses) || last.Addresses[i].Addr != addr {
			return false
		}
		i++
	}
	return i == len(last.Addresses)
}

// A room is memory for the endpoints of a new locality. They are next to each other, because updates compare all of
// them. The zero value allocates each one.
type room struct {
	endpoints []lbtree.Endpoint
	addresses []resolver.Address
}

// newRoom returns a room for n endpoints. Most have one address.
func newRoom(n int) room {
	return room{make([]lbtree.Endpoint, 0, n), make([]resolver.Address, 0, n)}
}

// endpoint returns memory for an endpoint.
func (r *room) endpoint() *lbtree.Endpoint {
	n := len(r.endpoints)
	if n == cap(r.endpoints) {
		return new(lbtree.Endpoint)
	}
	r.endpoints = r.endpoints[:n+1]
	return &r.endpoints[n]
}

// endpoint returns an endpoint in the room.
func (d *dialer) endpoint(l *endpoint.Locality, e *endpoint.Endpoint, room *room) *lbtree.Endpoint {
	out := room.endpoint()
	out.Weight, out.HashKey, out.Hostname = max(e.Weight, 1), e.HashKey(), e.Hostname()
	addresses := room.addresses
	for addr := range e.Addresses() {
		a := resolver.Address{Addr: addr, Attributes: d.plain}
		if d.tls != nil && out.Hostname != "" {
			a = security.WithCluster(a, d.tls, out.Hostname)
		}
		if proxy := l.Proxy(e); d.proxied && proxy.IsValid() {
			a = security.WithProxy(a, proxy.String())
		}
		addresses = append(addresses, a)
	}
	out.Addresses, room.addresses = slices.Clip(addresses), addresses[len(addresses):]
	return out
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
