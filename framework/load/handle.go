package load

import (
	"maps"
	"sync/atomic"
)

// A Cluster counts the load of one cluster: its drops, and its localities. It is safe for
// concurrent use.
type Cluster struct {
	store    *Store
	entry    *clusterEntry
	released atomic.Bool
}

// maxCategories is the limit of a cluster's drop categories, because control planes choose their
// names. Drops of further categories count as uncategorized.
const maxCategories = 1000

// Drop counts a dropped call. The category is that of the drop policy (gRFC A27). It is empty if
// there is none, as for circuit breaking (gRFC A32). Such a drop counts only in the total.
func (c *Cluster) Drop(category string) {
	d, ok := (*c.entry.drops.Load())[category]
	if !ok {
		d = c.category(category)
	}
	c.store.spread.add(d.lanes, dropped)
}

// category adds a category to a copy of the map, so that readers take no lock. It does not wait for
// the store's mutex either, which is held while a report is made.
func (c *Cluster) category(name string) *drops {
	c.entry.categories.Lock()
	defer c.entry.categories.Unlock()
	old := *c.entry.drops.Load()
	if name = text(name); len(old) >= maxCategories {
		name = "" // may exceed the limit by one
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

// Locality returns the handle that counts calls to endpoints of a locality, and the endpoint
// metrics that the propagation selects. Handles with equal arguments share their counters. Handles
// that differ only in their propagation are one locality in reports. Release the handle when no
// further call will start.
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

// Release ends the use of the handle: no further drop will be counted. The counted drops are
// reported once more. Release may be called more than once. It does not release localities.
func (c *Cluster) Release() {
	if c.released.CompareAndSwap(false, true) {
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		c.entry.leave()
	}
}

// A Locality counts the load of the endpoints of one locality. It is safe for concurrent use. Its
// methods allocate nothing and take no lock that another processor is likely to hold.
type Locality struct {
	store    *Store
	cluster  *clusterEntry
	entry    *localityEntry
	released atomic.Bool
}

// CallStarted counts the start of a call.
func (l *Locality) CallStarted() { l.store.spread.add(l.entry.lanes, issued) }

// CallFinished counts the end of a call that CallStarted counted. It is a success if err is nil.
// CallFinished does not keep the metrics, if any. It may be called after Release.
func (l *Locality) CallFinished(err error, m *Metrics) {
	counter := succeeded
	if err != nil {
		counter = failed
	}
	t := l.store.spread.take()
	if m != nil && l.entry.tallies != nil {
		// The metrics come first: when a call counts as finished, its metrics must be included.
		own := &l.entry.tallies[t.lane]
		own.mu.Lock()
		own.count(&l.entry.propagation, m)
		own.mu.Unlock()
	}
	l.entry.lanes[t.lane].n[counter].Add(1)
	l.store.spread.give(t)
}

// Release ends the use of the handle: no further call will start. The locality is reported until
// the calls in progress have finished. Release may be called more than once.
func (l *Locality) Release() {
	if l.released.CompareAndSwap(false, true) {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		l.entry.users--
		l.cluster.leave()
	}
}
