package authority

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Times of the does-not-exist timer (gRFC A57, gRFC A88).
const (
	ResourceTimeout          = 15 * time.Second
	ResourceTimeoutTransient = 30 * time.Second
)

// MaxServers is the limit of an authority's servers. Further ones are not used.
const MaxServers = 64

// A Config configures a machine.
type Config struct {
	Types *resource.Set
	// Servers are the servers of the authority, in the order of preference (gRFC A71). Events and
	// effects name them by their position.
	Servers []*bootstrap.Server
	NodeID  string // for errors
	// MaxMembers is the most members that a wildcard or glob collection may have; further
	// ones are ignored. Zero is the default of [resource.Limits].
	MaxMembers int
	// FailOnDataErrors treats every server as if it had the feature of that name.
	FailOnDataErrors bool
	// Store means that the last server is a last known good store. The others are live servers; there
	// is at least one.
	Store bool
	// FallbackOnReachabilityOnly falls back to the next live server even if everything is cached (A95).
	FallbackOnReachabilityOnly bool
}

// A Machine is one authority. It is not safe for concurrent use. Its owner is the client's event
// loop. Only the shards may be read by other goroutines.
type Machine struct {
	config Config
	types  []*typeRecords // by the type's index in the set

	choice  *serverChoice
	down    []error // by server: the reason why it is unreachable; nil if it is reachable
	watched int     // records that are subscribed to
	// troubled means that a watcher was notified that no server is reachable, and not yet that this
	// is over.
	troubled bool

	timers      timers
	clock       clock     // of the timers
	respondedAt time.Time // by that clock: the last response of the server in use
	guessed     bool      // some record may have an unconfirmed timeout
	lifetimes   lifetimes
	responses   uint32
	version     *string   // the version of the last response
	mentioned   int       // records that the current response has mentioned
	messages    int       // bytes of the rejected messages that the machine keeps
	arrived     []*record // collections that became usable with the current response
	now         time.Time // of the current event

	ready Ready
}

// New returns a machine without any resource.
func New(config Config) *Machine {
	if config.MaxMembers <= 0 {
		config.MaxMembers = resource.Limits{}.WithDefaults().CollectionMembers
	}
	config.Servers = config.Servers[:min(len(config.Servers), MaxServers)]
	m := &Machine{
		config: config,
		choice: newServerChoice(len(config.Servers)),
		down:   make([]error, len(config.Servers)),
	}
	if config.FallbackOnReachabilityOnly {
		m.choice.eager = len(config.Servers)
		if config.Store {
			m.choice.eager-- // the store has nothing newer than the cache
		}
	}
	for _, t := range config.Types.All() {
		m.types = append(m.types, &typeRecords{
			typ: t, shard: t.NewShard(), aliased: make(map[string][]*record),
		})
	}
	return m
}

// Shard returns the cache of the type with the given index in the set. Any goroutine may call this
// and read the shard.
func (m *Machine) Shard(index int) resource.Shard { return m.types[index].shard }

// Active returns the position of the server in use. It returns false if there is none, because
// nothing is watched.
func (m *Machine) Active() (int, bool) {
	i := m.choice.active
	return i, i != noServer
}

// NextDeadline returns when the next Tick is due.
func (m *Machine) NextDeadline() (at time.Time, ok bool) {
	if t, armed := m.timers.next(); armed && !m.clock.standing() {
		due := t.at
		if h, armed := m.timers.nextHalf(); armed && h.half().Before(due) {
			due = h.half()
		}
		at, ok = m.clock.when(due), true
	}
	if len(m.lifetimes) > 0 && (!ok || m.lifetimes[0].extras.expires.Before(at)) {
		at, ok = m.lifetimes[0].extras.expires, true
	}
	return at, ok
}

func (m *Machine) recordsOf(t *resource.Descriptor) *typeRecords {
	return m.types[m.config.Types.Index(t)]
}

// Handle returns a handle of a resource or collection for one call of Watch. Any goroutine may call this.
func (m *Machine) Handle(typ *resource.Descriptor, name xdstp.Name) Handle {
	return Handle{&record{records: m.recordsOf(typ), name: name}}
}

// Watch adds a watcher of a resource, or a CollectionWatcher of a collection. The watcher is notified
// of the known state at once. It returns the handle for Cancel.
func (m *Machine) Watch(h Handle, w Watcher, now time.Time) Handle {
	m.now = now
	t := h.r.records
	r, added := t.record(h.r)
	if added {
		t.generation++
		if r.isCollection() {
			t.collections++
			m.gather(r)
		}
	}
	first := !r.watched()
	r.addWatcher(w)
	if first {
		m.watched++
		m.changeAll(ads.Subscribe, r)
	}
	m.choose(m.choice.wanted(r.unknown()))
	m.introduce(r, w)
	if s := m.stateOf(r); s.Known() {
		m.notify(w, xdstp.Name{}, s)
	}
	return Handle{r}
}

// Cancel removes a watcher from the record that Watch returned.
func (m *Machine) Cancel(h Handle, w Watcher, now time.Time) {
	m.now = now
	r := h.r
	if r == nil || !r.watched() {
		return
	}
	r.removeWatcher(w)
	if r.watched() {
		return
	}
	m.watched--
	m.changeAll(ads.Unsubscribe, r)
	r.asked, r.overdue = 0, false
	if r.isCollection() {
		r.records.collections--
		m.scatter(r)
	}
	if r.collection() == nil {
		m.discard(r)
	} else if r.update == nil && r.state == Nacked {
		e := *r.err
		e.Err = clipped(e.Err)
		r.err = &e
	}
	if m.watched == 0 {
		m.choose(m.choice.unwanted())
	}
}

// changeAll emits a change at every server in use.
func (m *Machine) changeAll(op ads.Op, r *record) {
	for i := range m.config.Servers {
		if m.choice.used(i) {
			m.change(i, op, r)
		}
	}
}

// discard forgets a record that nobody needs.
func (m *Machine) discard(r *record) {
	r.timer, r.gone = 0, true
	r.count()
	m.keepMessage(r, nil)
	if r.lastResponse == m.responses {
		m.mentioned-- // it counts the records of the type
	}
	if r.update != nil {
		m.keepRelease(r)
		m.unuse(r)
	}
	r.records.release(r, nil)
	m.lifetimes.set(r, time.Time{})
	r.records.byName.Delete(r.name.String(), nameOf)
}

// stateOf returns the state of a resource for watchers.
func (m *Machine) stateOf(r *record) resource.State {
	s := resource.State{Update: r.update}
	if r.update != nil || r.isCollection() && r.usable() {
		s.Origin = m.origin(int(r.from))
	}
	switch {
	case r.err != nil:
		s.Err = r.err
	case m.unconfirmed(r):
		s.Err = m.fault(r, resource.ErrTransport, m.whyStored())
		m.troubled = true
	case m.cutOff(r):
		s.Err = m.fault(r, resource.ErrTransport, m.whyDown())
		m.troubled = true
	}
	return s
}

// origin returns the origin of the updates of a server.
func (m *Machine) origin(server int) resource.Origin {
	switch {
	case m.isStore(server):
		return resource.OriginStored
	case server == 0:
		return resource.OriginPrimary
	}
	return resource.OriginFallback
}

func (m *Machine) report(r *record) {
	if r.watched() {
		s := m.stateOf(r)
		for w := range r.watchers() {
			m.notify(w, xdstp.Name{}, s)
		}
	}
	if r.collection() != nil {
		m.reportMember(r, m.stateOf(r))
	}
}

func (m *Machine) fault(r *record, kind, cause error) *resource.Error {
	e := &resource.Error{Kind: kind, Type: r.records.typ.Name, Name: r.name, NodeID: m.config.NodeID, Err: cause}
	if i := m.live(); i != noServer {
		e.Server = m.config.Servers[i].URI()
	}
	return e
}

// active reports whether the server in use has a feature.
func (m *Machine) active(feature string) bool {
	i := m.choice.active
	return i != noServer && m.config.Servers[i].HasFeature(feature)
}
