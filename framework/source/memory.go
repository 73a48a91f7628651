package source

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Memory is a [Source] of resources that the program commits. It is safe for concurrent use.
// [NewMemory] makes one.
type Memory struct {
	mu       sync.Mutex
	epoch    string
	revision Revision
	types    map[string]*memoryType // by type URL
	sessions map[*memorySession]struct{}
	state    State
	states   int  // so far
	used     bool // the state was Live or Stale since it was set to zero
	report   func(Rejection)
}

var _ Source = (*Memory)(nil)

// A memoryType has the resources of one type.
type memoryType struct {
	held        map[string]*held
	collections map[string]map[string]*held // members, by glob or Wildcard
	aliases     map[string][]string         // names by alias, sorted
}

// A held is a resource that Memory has.
type held struct {
	Resource
	revision   Revision
	collection string // a glob, or Wildcard
}

func (h *held) alive(now time.Time) bool { return h.Expires.IsZero() || now.Before(h.Expires) }

// NewMemory returns a Source without resources, which is [Live].
func NewMemory() *Memory {
	return &Memory{
		state:    State{Kind: Live},
		states:   1,
		used:     true,
		epoch:    strconv.FormatInt(time.Now().UnixNano(), 36),
		types:    make(map[string]*memoryType),
		sessions: make(map[*memorySession]struct{}),
	}
}

// Commit applies a transaction, all of it or nothing, and returns its revision. Readers see no state
// in between. The error has [ErrConflict] in its chain if a condition does not hold.
func (m *Memory) Commit(ctx context.Context, tx *Tx) (Revision, error) {
	if err := tx.Check(); err != nil {
		return 0, err
	}
	operations := versioned(tx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("source: commit: %w", context.Cause(ctx))
	}
	if err := m.conflict(tx); err != nil {
		return 0, err
	}
	m.revision++
	m.apply(operations)
	return m.revision, nil
}

// CommitAt applies a transaction without conditions, for Sources that fill a Memory from a store. The memory
// then has a revision and an epoch of that store. With another epoch than before, the sessions report
// everything again. A revision that is lower than before is ignored within an epoch.
func (m *Memory) CommitAt(ctx context.Context, tx *Tx, epoch string, revision Revision) error {
	if err := tx.Check(); err != nil {
		return err
	}
	operations := versioned(tx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("source: commit: %w", context.Cause(ctx))
	}
	if epoch == m.epoch {
		revision = max(revision, m.revision)
	} else {
		m.begin(epoch)
	}
	m.revision = revision
	m.apply(operations)
	return nil
}

// begin starts another epoch.
func (m *Memory) begin(epoch string) {
	m.epoch = epoch
	for s := range m.sessions {
		s.complete, s.fills = nil, nil // a change with a new epoch has everything
		for i := range s.wanted {
			s.complete = append(s.complete, i)
			m.note(i, s.pending)
		}
	}
}

// versioned returns the operations of a transaction with versions. Versions are digests: they are computed
// without the lock.
func versioned(tx *Tx) []Operation {
	operations := make([]Operation, len(tx.operations))
	for i, o := range tx.operations {
		if operations[i] = o; !o.Delete && o.Version == "" {
			operations[i].Version = Version(&o.Resource)
		}
	}
	return operations
}

// apply applies the operations of a commit.
func (m *Memory) apply(operations []Operation) {
	for i := range operations {
		if o := &operations[i]; o.Delete {
			m.delete(o.Key)
		} else {
			m.put(&o.Resource)
		}
	}
	for s := range m.sessions {
		s.wake()
	}
}

// SetState sets the state of all sessions, for Sources that fill a Memory. The zero State holds sessions
// back: they report nothing until the memory is Live or Stale. A memory that is Down before that has not
// been filled yet, so it cannot tell which resources exist.
func (m *Memory) SetState(s State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.String() == s.String() && m.state.Since.Equal(s.Since) {
		return
	}
	m.state = s
	m.states++
	m.used = s.Kind == Live || s.Kind == Stale || s.Kind != 0 && m.used
	for s := range m.sessions {
		s.notify()
	}
}

// OnReport sets a function that is called with each rejection of a client. It must return at once.
func (m *Memory) OnReport(f func(Rejection)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report = f
}

// Get returns a resource and the revision of the commit that put it last.
func (m *Memory) Get(k Key) (r Resource, revision Revision, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.types[k.Type]; t != nil {
		if h := t.held[k.Name]; h != nil && h.alive(time.Now()) {
			return h.Resource, h.revision, true
		}
	}
	return Resource{}, 0, false
}

// Revision returns the revision of the last commit.
func (m *Memory) Revision() Revision {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.revision
}

// conflict returns an error if a condition of the transaction does not hold.
func (m *Memory) conflict(tx *Tx) error {
	if want, ok := tx.Unchanged(); ok && want != m.revision {
		return fmt.Errorf("source: revision = %d; must be %d: %w", m.revision, want, ErrConflict)
	}
	now := time.Now()
	for _, c := range tx.conditions {
		var revision Revision
		if t := m.types[c.Type]; t != nil {
			if h := t.held[c.Name]; h != nil && h.alive(now) {
				revision = h.revision
			}
		}
		if revision != c.Revision {
			return fmt.Errorf("source: revision of %s = %d; must be %d: %w", c.Key, revision, c.Revision, ErrConflict)
		}
	}
	return nil
}

func (m *Memory) put(r *Resource) {
	t := m.types[r.Type]
	if t == nil {
		t = &memoryType{held: make(map[string]*held), collections: make(map[string]map[string]*held), aliases: make(map[string][]string)}
		m.types[r.Type] = t
	}
	h := t.held[r.Name]
	if h != nil && SameVersion(h.Version, r.Version) && h.Expires.Equal(r.Expires) {
		h.revision = m.revision
		return
	}
	if h != nil {
		m.changed(h)
		m.leave(t, h)
	}
	h = &held{Resource: *r, revision: m.revision, collection: collectionOf(r.Name)}
	t.enter(h)
	m.changed(h)
}

func (m *Memory) delete(k Key) {
	if t := m.types[k.Type]; t != nil {
		if h := t.held[k.Name]; h != nil {
			m.changed(h)
			m.leave(t, h)
		}
	}
}

// leave removes a resource. Its name and its aliases may be aliases of others, which are reported again.
func (m *Memory) leave(t *memoryType, h *held) {
	t.leave(h)
	for _, name := range append([]string{h.Name}, h.Aliases...) {
		for _, other := range t.aliases[name] {
			m.changed(t.held[other])
		}
	}
}

// changed notes a resource for the sessions that want it.
func (m *Memory) changed(h *held) {
	for s := range m.sessions {
		if s.wants(h) {
			first(s.pending, h)
		}
	}
}

func (t *memoryType) enter(h *held) {
	t.held[h.Name] = h
	if t.collections[h.collection] == nil {
		t.collections[h.collection] = make(map[string]*held)
	}
	t.collections[h.collection][h.Name] = h
	for _, a := range h.Aliases {
		if i, found := slices.BinarySearch(t.aliases[a], h.Name); !found {
			t.aliases[a] = slices.Insert(t.aliases[a], i, h.Name)
		}
	}
}

func (t *memoryType) leave(h *held) {
	delete(t.held, h.Name)
	delete(t.collections[h.collection], h.Name)
	if len(t.collections[h.collection]) == 0 {
		delete(t.collections, h.collection)
	}
	for _, a := range h.Aliases {
		t.aliases[a] = slices.DeleteFunc(t.aliases[a], func(name string) bool { return name == h.Name })
		if len(t.aliases[a]) == 0 {
			delete(t.aliases, a)
		}
	}
}

// collectionOf returns the collection of which a resource is a member.
func collectionOf(name string) string {
	if n, err := xdstp.Parse(name); err == nil {
		if glob, ok := n.Glob(); ok {
			return glob.String()
		}
	}
	return Wildcard
}
