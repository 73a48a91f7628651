package load

import (
	"maps"
	"sync/atomic"
)

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

// category adds a category, in a copy of the map: readers take no lock. It does not wait
// for the store's mutex either, which is held while a report is made.
func (c *Cluster) category(name string) *drops {
	c.entry.categories.Lock()
	defer c.entry.categories.Unlock()
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
