package load

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

// A clusterEntry is one cluster. Its drops may be read without a mutex, and changed with
// that of the categories. The store's mutex guards everything else.
type clusterEntry struct {
	clusterKey
	users      int       // handles of the cluster and of its localities
	idle       time.Time // since when there are none
	since      time.Time // the end of the last report
	categories sync.Mutex
	drops      atomic.Pointer[map[string]*drops]
	localities map[localityKey]*localityEntry
}

// leave says that a handle was released. The mutex is held.
func (e *clusterEntry) leave() {
	e.users--
	e.idle = time.Now()
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
