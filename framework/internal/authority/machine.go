package authority

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/fallback"
	"github.com/xdsforge/xdsforge/framework/resource"
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
}

// A Machine is one authority. It is not safe for concurrent use. Its owner is the client's event
// loop. Only the shards may be read by other goroutines.
type Machine struct {
	config Config
	tables []*table // by the type's index in the set

	choice  *fallback.Machine
	down    []error // by server: the reason why it is unreachable; nil if it is reachable
	watched int     // records that are subscribed to
	// troubled means that a watcher was notified that no server is reachable, and not yet that this
	// is over.
	troubled bool

	timers    timers
	clock     clock     // of the timers
	heardAt   time.Time // by that clock: the last response of the server in use
	doubts    bool      // some record may be doubted
	lifetimes lifetimes
	responses uint32
	version   *string   // the version of the last response
	mentioned int       // records that the current response has mentioned
	arrived   []*record // collections that became usable with the current response
	now       time.Time // of the current event

	effects []Effect
}

// New returns a machine without any resource.
func New(config Config) *Machine {
	if config.MaxMembers <= 0 {
		config.MaxMembers = resource.Limits{}.WithDefaults().CollectionMembers
	}
	config.Servers = config.Servers[:min(len(config.Servers), MaxServers)]
	m := &Machine{
		config: config,
		choice: fallback.New(len(config.Servers)),
		down:   make([]error, len(config.Servers)),
	}
	for _, t := range config.Types.All() {
		m.tables = append(m.tables, &table{
			typ: t, shard: t.NewShard(), records: make(map[string]*record), aliased: make(map[string][]*record),
		})
	}
	return m
}

// Shard returns the cache of the type with the given index in the set. Any goroutine may call this
// and read the shard.
func (m *Machine) Shard(index int) resource.Shard { return m.tables[index].shard }

// Active returns the position of the server in use. It returns false if there is none, because
// nothing is watched.
func (m *Machine) Active() (int, bool) {
	i := m.choice.Active()
	return i, i != fallback.None
}

// keptEffects is the limit of the memory for effects that is kept.
const keptEffects = 1 << 10

// Handle handles an event and returns its effects. The slice is valid until the next call.
func (m *Machine) Handle(ev Event, now time.Time) []Effect {
	clear(m.effects) // old effects must not keep updates in memory
	m.effects, m.now = m.effects[:0], now
	switch ev := ev.(type) {
	case Watch:
		m.watch(ev)
	case Cancel:
		m.cancel(ev)
	case Asked:
		m.asked(ev)
	case Response:
		m.response(ev)
	case Stale:
		m.stale(ev)
	case Lost:
		m.lost(ev.Server, ev.Err)
	case Healthy:
		m.healthy(ev.Server)
	case Idle:
		m.down[ev.Server] = nil
		m.choice.Healthy(ev.Server)
	case Pause:
		if ev.Server == m.choice.Active() {
			m.clock.stop(ev.Since)
		}
	case Resume:
		if ev.Server == m.choice.Active() {
			m.clock.start(now)
		}
	case Tick:
		m.tick()
	}
	out := m.effects
	if cap(out) > keptEffects {
		m.effects = nil
	}
	return out
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
	if len(m.lifetimes) > 0 && (!ok || m.lifetimes[0].rare.expires.Before(at)) {
		at, ok = m.lifetimes[0].rare.expires, true
	}
	return at, ok
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) table(t *resource.Descriptor) *table { return m.tables[m.config.Types.Index(t)] }

func (m *Machine) watch(ev Watch) {
	t := m.table(ev.Type)
	key := ev.Name.String()
	r, ok := t.records[key]
	if !ok {
		r = &record{table: t, name: ev.Name}
		t.add(r)
		t.generation++
		if r.isCollection() {
			t.collections++
			m.gather(r)
		}
	}
	if ev.Place != nil {
		ev.Place.r = r
	}
	first := !r.watched()
	r.addWatcher(ev.Watcher)
	if first {
		m.watched++
		for i := range m.config.Servers {
			if m.choice.Used(i) {
				m.emit(Subscribe{Server: i, Type: t.typ, Name: key})
			}
		}
	}
	m.choose(m.choice.Wanted(r.unknown()))
	m.introduce(r, ev.Watcher)
	if s := m.told(r); s.Known() {
		m.emit(Notify{Watcher: ev.Watcher, State: s})
	}
}

func (m *Machine) cancel(ev Cancel) {
	r := ev.Place.r
	if r == nil {
		r = m.table(ev.Type).records[ev.Name.String()]
	}
	if r == nil || !r.watched() {
		return
	}
	t := r.table
	r.removeWatcher(ev.Watcher)
	if r.watched() {
		return
	}
	m.watched--
	for i := range m.config.Servers {
		if m.choice.Used(i) {
			m.emit(Unsubscribe{Server: i, Type: t.typ, Name: r.name.String()})
		}
	}
	r.asked, r.overdue = 0, false
	if r.isCollection() {
		t.collections--
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
		m.choose(m.choice.Unwanted())
	}
}

// discard forgets a record that nobody needs.
func (m *Machine) discard(r *record) {
	r.timer, r.gone = 0, true
	r.count()
	if r.seen == m.responses {
		m.mentioned-- // it counts the records of the table
	}
	if r.update != nil {
		m.emit(Unused{Server: int(r.from), Type: r.table.typ, Name: r.update.Name()})
	}
	r.table.release(r, nil)
	m.lifetimes.set(r, time.Time{})
	r.table.remove(r.name.String())
}

// told returns the state of a resource for watchers.
func (m *Machine) told(r *record) resource.State {
	s := resource.State{Update: r.update}
	if r.update != nil || r.isCollection() && r.usable() {
		s.Origin = origin(int(r.from))
	}
	if r.err != nil {
		s.Err = r.err
	} else if m.choice.Exhausted() {
		s.Err = m.fault(r, resource.ErrTransport, m.down[m.choice.Active()])
		m.troubled = true
	}
	return s
}

// origin returns the origin of the updates of a server.
func origin(server int) resource.Origin {
	if server == 0 {
		return resource.OriginPrimary
	}
	return resource.OriginFallback
}

func (m *Machine) tell(r *record) {
	if r.watched() {
		s := m.told(r)
		for w := range r.watchers() {
			m.emit(Notify{Watcher: w, State: s})
		}
	}
	if r.collection() != nil {
		m.tellMember(r, m.told(r))
	}
}

func (m *Machine) fault(r *record, kind, cause error) *resource.Error {
	e := &resource.Error{Kind: kind, Type: r.table.typ.Name, Name: r.name, NodeID: m.config.NodeID, Err: cause}
	if i := m.choice.Active(); i != fallback.None {
		e.Server = m.config.Servers[i].URI()
	}
	return e
}

// active reports whether the server in use has a feature.
func (m *Machine) active(feature string) bool {
	i := m.choice.Active()
	return i != fallback.None && m.config.Servers[i].HasFeature(feature)
}
