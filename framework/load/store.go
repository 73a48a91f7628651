package load

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Store counts the load that is reported to one server. It is safe for concurrent use.
type Store struct {
	spread *spread
	filled func()

	mu       sync.Mutex
	clusters map[clusterKey]*clusterEntry
	room     int // limit of clusters before sweep
}

// minRoom is the least number of clusters that a store keeps, used or not. The store needs a limit:
// control planes choose the names, may send new ones without end, and may never ask for a report.
const minRoom = 10_000

// NewStore returns an empty store. When the store has something to report after it had nothing, it
// calls filled, if that is not nil, without holding a lock.
func NewStore(filled func()) *Store {
	if filled == nil {
		filled = func() {}
	}
	return &Store{spread: newSpread(), filled: filled, clusters: make(map[clusterKey]*clusterEntry), room: minRoom}
}

type clusterKey struct{ cluster, service string }

// A clusterEntry is one cluster. Its drops may be read without a mutex, and are changed under the
// mutex of the categories. The store's mutex guards everything else.
type clusterEntry struct {
	clusterKey
	users      int       // handles of the cluster and of its localities
	idle       time.Time // since when it has no users
	since      time.Time // the end of the last report
	categories sync.Mutex
	drops      atomic.Pointer[map[string]*drops]
	localities map[localityKey]*localityEntry
	others     *others // of reporters; nil: there are none
}

// leave records that a handle was released. The mutex is held.
func (e *clusterEntry) leave() {
	e.users--
	e.idle = time.Now()
}

// drops counts the drops of one category.
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

// LocalityID identifies a locality. Its fields are those of the endpoint plugin's LocalityID, so
// that one converts to the other.
type LocalityID struct {
	Region  string
	Zone    string
	SubZone string
}

// Cluster returns the handle that counts calls of a cluster. The argument service is the name of
// its EDS resource if that differs from the cluster's (gRFC A27). Handles with equal names share
// their counters. Release the handle when no further call of the cluster will start.
func (s *Store) Cluster(cluster, service string) *Cluster {
	s.mu.Lock()
	wasEmpty := len(s.clusters) == 0
	e := s.entry(clusterKey{text(cluster), text(service)})
	e.users++
	s.mu.Unlock()
	if wasEmpty {
		s.filled()
	}
	return &Cluster{store: s, entry: e}
}

// entry returns the entry of a cluster, which it creates if needed. The mutex is held.
func (s *Store) entry(key clusterKey) *clusterEntry {
	e, ok := s.clusters[key]
	if !ok {
		s.sweep()
		e = &clusterEntry{clusterKey: key, since: time.Now(), localities: make(map[localityKey]*localityEntry)}
		e.drops.Store(&map[string]*drops{})
		s.clusters[key] = e
	}
	return e
}

// sweep removes unused clusters, unreported, if there are too many. It then sets the limit to twice
// the number of used ones, so that it rarely runs. The mutex is held.
func (s *Store) sweep() {
	if len(s.clusters) < s.room {
		return
	}
	maps.DeleteFunc(s.clusters, func(_ clusterKey, e *clusterEntry) bool { return e.users == 0 })
	s.room = max(minRoom, 2*len(s.clusters))
}

// Empty reports whether the store has no users and all of its load was reported.
func (s *Store) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clusters) == 0
}

// Forget removes, unreported, all clusters and localities without a user since the given time or
// longer. The client calls it while the server is unreachable.
func (s *Store) Forget(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.clusters, func(_ clusterKey, e *clusterEntry) bool {
		return e.users == 0 && !e.idle.After(before)
	})
}

// text returns a name that is valid in a protobuf message. An invalid name would make the whole
// report unsendable.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
