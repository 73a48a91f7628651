package lrs

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Store counts the load that one server is told of. It is safe for concurrent
// use.
type Store struct {
	spread *spread
	filled func()

	mu       sync.Mutex
	clusters map[clusterKey]*clusterEntry
	room     int // how many clusters there may be before sweep
}

// minRoom is how many clusters a store has room for, used or not. Their names come from
// control planes, which may bring new ones without end, and never ask for a report.
const minRoom = 10_000

// NewStore returns an empty store. It calls filled, if that is not nil and without
// holding a lock, when there is something to report although there was nothing
// before.
func NewStore(filled func()) *Store {
	if filled == nil {
		filled = func() {}
	}
	return &Store{spread: newSpread(), filled: filled, clusters: make(map[clusterKey]*clusterEntry), room: minRoom}
}

type clusterKey struct{ cluster, service string }

// A clusterEntry is one cluster. Its drops may be read without the store's mutex,
// which guards everything else.
type clusterEntry struct {
	clusterKey
	users      int       // handles of the cluster and of its localities
	idle       time.Time // since when there are none
	since      time.Time // the end of the last report
	drops      atomic.Pointer[map[string]*drops]
	localities map[localityKey]*localityEntry
}

// drops are those of one category.
type drops struct {
	lanes
	reported uint64
}

type localityKey struct {
	LocalityID
	propagation string
}

type localityEntry struct {
	lanes
	localityKey
	propagation Propagation
	tallies     []tallyLane // nil if nothing is propagated

	// The reporting side, guarded by the store's mutex.
	users    int
	reported totals
	pending  tally // not reported yet
}

// LocalityID says where endpoints are. Its fields are those of the endpoint plugin's
// LocalityID, so that one converts to the other.
type LocalityID struct {
	Region  string
	Zone    string
	SubZone string
}

// Cluster returns where calls of a cluster are counted; service is the name of its
// EDS resource if that is not the cluster's own (gRFC A27). Equal names share their
// counters. Release the handle when no further call of the cluster will be made.
func (s *Store) Cluster(cluster, service string) *Cluster {
	s.mu.Lock()
	wasEmpty := len(s.clusters) == 0
	key := clusterKey{text(cluster), text(service)}
	e, ok := s.clusters[key]
	if !ok {
		s.sweep()
		e = &clusterEntry{clusterKey: key, since: time.Now(), localities: make(map[localityKey]*localityEntry)}
		e.drops.Store(&map[string]*drops{})
		s.clusters[key] = e
	}
	e.users++
	s.mu.Unlock()
	if wasEmpty {
		s.filled()
	}
	return &Cluster{store: s, entry: e}
}

// sweep drops, unreported, what is not used if there are too many clusters. It leaves room
// for as many again as are used, so that this is rare. The mutex is held.
func (s *Store) sweep() {
	if len(s.clusters) < s.room {
		return
	}
	maps.DeleteFunc(s.clusters, func(_ clusterKey, e *clusterEntry) bool { return e.users == 0 })
	s.room = max(minRoom, 2*len(s.clusters))
}

// Empty reports whether nobody uses the store, and all that it counted was reported.
func (s *Store) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clusters) == 0
}

// Forget drops, unreported, what has had no user since a time or longer. It is for a
// server that cannot be told.
func (s *Store) Forget(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.clusters, func(_ clusterKey, e *clusterEntry) bool {
		return e.users == 0 && !e.idle.After(before)
	})
}

// text makes a name fit for a protobuf message: one that is not would make a whole
// report unsendable.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// A Cluster is the load of one cluster: what is dropped, and its localities. It is
// safe for concurrent use.
type Cluster struct {
	store    *Store
	entry    *clusterEntry
	released atomic.Bool
}

// maxCategories bounds the categories of drops of a cluster: their names come from
// control planes. Drops of others count as uncategorized.
const maxCategories = 1000

// Drop counts a call that was not made. The category is that of the drop policy
// (gRFC A27); it is empty where there is none, as for circuit breaking (gRFC A32):
// such a drop is part of the total only.
func (c *Cluster) Drop(category string) {
	d, ok := (*c.entry.drops.Load())[category]
	if !ok {
		d = c.category(category)
	}
	c.store.spread.add(d.lanes, dropped)
}

// category adds a category, in a copy of the map: readers take no lock.
func (c *Cluster) category(name string) *drops {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	old := *c.entry.drops.Load()
	if name = text(name); len(old) >= maxCategories {
		name = "" // which may be one more
	}
	if d, ok := old[name]; ok {
		return d
	}
	d := &drops{lanes: make(lanes, c.store.spread.lanes)}
	grown := maps.Clone(old)
	grown[name] = d
	c.entry.drops.Store(&grown)
	return d
}

// Locality returns where calls to endpoints of a locality are counted, and which of
// the endpoints' metrics with them. Handles with equal arguments share their counters;
// those that differ in their propagation only are one locality in reports. Release
// the handle when no further call will be started.
func (c *Cluster) Locality(id LocalityID, p Propagation) *Locality {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	key := localityKey{LocalityID{text(id.Region), text(id.Zone), text(id.SubZone)}, p.key()}
	e, ok := c.entry.localities[key]
	if !ok {
		e = &localityEntry{lanes: make(lanes, s.spread.lanes), localityKey: key, propagation: p}
		if !p.none() {
			e.tallies = make([]tallyLane, s.spread.lanes)
		}
		c.entry.localities[key] = e
	}
	e.users++
	c.entry.users++
	return &Locality{store: s, cluster: c.entry, entry: e}
}

// Release says that no further drop will be counted. What was counted is reported
// once more. Release may be called more than once; it does not release localities.
func (c *Cluster) Release() {
	if c.released.CompareAndSwap(false, true) {
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		c.entry.leave()
	}
}

func (e *clusterEntry) leave() {
	e.users--
	e.idle = time.Now()
}

// A Locality is the load of the endpoints of one locality. It is safe for concurrent
// use. Its methods allocate nothing and take no lock that another processor is likely
// to hold.
type Locality struct {
	store    *Store
	cluster  *clusterEntry
	entry    *localityEntry
	released atomic.Bool
}

// CallStarted counts a call that is made.
func (l *Locality) CallStarted() { l.store.spread.add(l.entry.lanes, issued) }

// CallFinished counts the end of a call that CallStarted counted: a success, unless
// there is an error. The metrics, if any, are not kept. It may be called after
// Release.
func (l *Locality) CallFinished(err error, m *Metrics) {
	counter := succeeded
	if err != nil {
		counter = failed
	}
	t := l.store.spread.take()
	if m != nil && l.entry.tallies != nil {
		// Before the call counts as finished: one that does has brought its metrics.
		own := &l.entry.tallies[t.lane]
		own.mu.Lock()
		own.count(&l.entry.propagation, m)
		own.mu.Unlock()
	}
	l.entry.lanes[t.lane].n[counter].Add(1)
	l.store.spread.give(t)
}

// Release says that no further call will be started. The locality is reported until
// the calls that are in progress have finished. Release may be called more than once.
func (l *Locality) Release() {
	if l.released.CompareAndSwap(false, true) {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		l.entry.users--
		l.cluster.leave()
	}
}
