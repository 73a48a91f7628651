package serve

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// A LoadTotal is the load of a cluster in all reports of all clients so far.
type LoadTotal struct {
	// Cluster is the name of the cluster, and Service that of its EDS resource, if the clients send it. Both are empty
	// for all clusters beyond the limits of their clients, and for those without a report for an hour.
	Cluster, Service string
	// Started, Succeeded and Failed are calls to endpoints. Clients drop the Dropped calls. At 2⁶⁴-1, a sum grows no further.
	Started, Succeeded, Failed, Dropped uint64
}

// Load returns the totals of all clusters with load, in the order of their names.
func (s *Server) Load() []LoadTotal {
	s.loads.mu.Lock()
	defer s.loads.mu.Unlock()
	list := make([]LoadTotal, 0, len(s.loads.totals))
	for _, t := range s.loads.totals {
		list = append(list, t.LoadTotal)
	}
	slices.SortFunc(list, func(a, b LoadTotal) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Service, b.Service))
	})
	return list
}

// loads has the totals by the names of cluster and service. The zero loads is empty.
type loads struct {
	mu     sync.Mutex
	totals map[[2]string]*loadTotal
	owners map[string]*loadOwner // by client
	swept  time.Time
}

// A loadTotal is a total. Its names count against one client: the first that reported them.
type loadTotal struct {
	LoadTotal
	owner string // "": nobody, for the total of all other clusters
	seen  time.Time
}

// A loadOwner has the number of the totals of one client, and the sum of the lengths of their names.
type loadOwner struct{ clusters, bytes int }

const (
	loadAge   = time.Hour   // a total without a report for so long is forgotten
	loadSweep = time.Minute // between two searches for such totals
)

// add adds a report of a client to the totals.
func (l *loads) add(client string, clusters []*endpointv3.ClusterStats, limits *Limits, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.totals == nil {
		l.totals, l.owners = make(map[[2]string]*loadTotal), make(map[string]*loadOwner)
	}
	l.sweep(now)
	for _, c := range clusters {
		t := l.of(client, [2]string{c.GetClusterName(), c.GetClusterServiceName()}, limits)
		t.seen = now
		sum := LoadTotal{Dropped: c.GetTotalDroppedRequests()}
		for _, x := range c.GetUpstreamLocalityStats() {
			sum.Started = saturate(sum.Started, x.GetTotalIssuedRequests())
			sum.Succeeded = saturate(sum.Succeeded, x.GetTotalSuccessfulRequests())
			sum.Failed = saturate(sum.Failed, x.GetTotalErrorRequests())
		}
		t.merge(&sum)
	}
}

// of returns the total of a cluster, or that of all other clusters if the client has reached a limit.
func (l *loads) of(client string, key [2]string, limits *Limits) *loadTotal {
	if t := l.totals[key]; t != nil {
		return t
	}
	owner, size := l.owners[client], len(key[0])+len(key[1])
	if owner == nil {
		owner = new(loadOwner)
		l.owners[client] = owner
	}
	if size == 0 || owner.clusters >= limits.LoadClusters || owner.bytes+size > limits.TotalBytes {
		return l.rest()
	}
	owner.clusters++
	owner.bytes += size
	t := &loadTotal{LoadTotal: LoadTotal{Cluster: key[0], Service: key[1]}, owner: client}
	l.totals[key] = t
	return t
}

// rest returns the total of all other clusters.
func (l *loads) rest() *loadTotal {
	t := l.totals[[2]string{}]
	if t == nil {
		t = new(loadTotal)
		l.totals[[2]string{}] = t
	}
	return t
}

// sweep moves the totals without recent reports to that of all other clusters, so that the sum of all totals never falls.
func (l *loads) sweep(now time.Time) {
	if now.Sub(l.swept) < loadSweep {
		return
	}
	l.swept = now
	for key, t := range l.totals {
		if t.Cluster == "" && t.Service == "" || now.Sub(t.seen) < loadAge {
			continue
		}
		l.rest().merge(&t.LoadTotal)
		delete(l.totals, key)
		owner := l.owners[t.owner]
		owner.clusters--
		owner.bytes -= len(key[0]) + len(key[1])
	}
	for client, owner := range l.owners {
		if owner.clusters == 0 {
			delete(l.owners, client)
		}
	}
}

// merge adds the sums of another total.
func (t *LoadTotal) merge(o *LoadTotal) {
	t.Started = saturate(t.Started, o.Started)
	t.Succeeded = saturate(t.Succeeded, o.Succeeded)
	t.Failed = saturate(t.Failed, o.Failed)
	t.Dropped = saturate(t.Dropped, o.Dropped)
}

// saturate returns a sum, at most 2⁶⁴-1: clients may report any numbers.
func saturate(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
