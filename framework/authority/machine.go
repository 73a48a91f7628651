package authority

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// Times of the does-not-exist timer (gRFC A57, gRFC A88).
const (
	ResourceTimeout          = 15 * time.Second
	ResourceTimeoutTransient = 30 * time.Second
)

// A Config is what a machine is made with.
type Config struct {
	Types  *resource.Set
	Server *bootstrap.Server
	NodeID string // for errors
}

// A Machine is one authority. It is not safe for concurrent use; its owner is
// the client's event loop. Only the shards may be read from elsewhere.
type Machine struct {
	config  Config
	shards  []resource.Shard     // by the type's index in the set
	records []map[string]*record // likewise; by canonical name

	timers    timers
	responses uint32
	down      error // why the control plane cannot be reached; nil when it can

	effects []Effect
}

// New returns a machine without any resource.
func New(config Config) *Machine {
	m := &Machine{config: config}
	for _, t := range config.Types.All() {
		m.shards = append(m.shards, t.NewShard())
		m.records = append(m.records, make(map[string]*record))
	}
	return m
}

// Shard is the cache of the type with the given index in the set. Any goroutine
// may call this and read the shard.
func (m *Machine) Shard(index int) resource.Shard { return m.shards[index] }

// Handle takes in an event and returns what to do about it. The slice is valid
// until the next call.
func (m *Machine) Handle(ev Event, now time.Time) []Effect {
	clear(m.effects) // no update may live on in an old effect
	m.effects = m.effects[:0]
	switch ev := ev.(type) {
	case Watch:
		m.watch(ev)
	case Cancel:
		m.cancel(ev)
	case Asked:
		m.asked(ev, now)
	case Response:
		m.response(ev)
	case Lost:
		m.lost(ev.Err)
	case Healthy:
		m.healthy()
	case Idle:
		m.down = nil
	case Tick:
		m.tick(now)
	}
	return m.effects
}

// NextDeadline is when the next Tick is due.
func (m *Machine) NextDeadline() (time.Time, bool) {
	t, ok := m.timers.next()
	return t.at, ok
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) watch(ev Watch) {
	records := m.records[m.config.Types.Index(ev.Type)]
	key := ev.Name.String()
	r, ok := records[key]
	if !ok {
		r = &record{typ: ev.Type, name: ev.Name}
		records[key] = r
		m.emit(Subscribe{Type: ev.Type, Name: key})
	}
	r.watchers = append(r.watchers, ev.Watcher)
	if s := m.told(r); s.Known() {
		m.emit(Notify{Watcher: ev.Watcher, State: s})
	}
}

func (m *Machine) cancel(ev Cancel) {
	i := m.config.Types.Index(ev.Type)
	key := ev.Name.String()
	r, ok := m.records[i][key]
	if !ok {
		return
	}
	r.removeWatcher(ev.Watcher)
	if len(r.watchers) > 0 {
		return
	}
	r.timer = 0
	delete(m.records[i], key)
	m.shards[i].Delete(ev.Name)
	m.emit(Unsubscribe{Type: ev.Type, Name: key})
}

func (m *Machine) asked(ev Asked, now time.Time) {
	wait := ResourceTimeout
	if m.timerIsTransient() {
		wait = ResourceTimeoutTransient
	}
	records := m.records[m.config.Types.Index(ev.Type)]
	for _, name := range ev.Names {
		if r, ok := records[name]; ok && r.state == Requested && r.timer == 0 {
			m.timers.start(r, now.Add(wait))
		}
	}
}

func (m *Machine) tick(now time.Time) {
	for {
		t, ok := m.timers.next()
		if !ok || now.Before(t.at) {
			return
		}
		r := t.record
		r.timer = 0
		if m.timerIsTransient() {
			r.state, r.err = Timeout, m.fault(r, resource.ErrTimeout, nil)
		} else {
			r.state, r.err = DoesNotExist, m.fault(r, resource.ErrNotFound, errNoAnswer)
		}
		m.tell(r)
	}
}

func (m *Machine) lost(err error) {
	m.timers.stopAll()
	if err == nil || m.down != nil && m.down.Error() == err.Error() {
		return
	}
	m.down = err
	m.tellUndisturbed(func(*record) bool { return true })
}

func (m *Machine) healthy() {
	if m.down == nil {
		return
	}
	m.down = nil
	m.tellUndisturbed(func(r *record) bool { return r.update != nil })
}

// tellUndisturbed tells the watchers of those resources that have no data error
// of their own, which would be told in place of a transport error.
func (m *Machine) tellUndisturbed(which func(*record) bool) {
	for _, records := range m.records {
		for _, r := range records {
			if r.err == nil && which(r) {
				m.tell(r)
			}
		}
	}
}

// told is what a watcher is to know of a resource.
func (m *Machine) told(r *record) resource.State {
	s := resource.State{Update: r.update, Err: r.err}
	if s.Err == nil && m.down != nil {
		s.Err = m.fault(r, resource.ErrTransport, m.down)
	}
	return s
}

func (m *Machine) tell(r *record) {
	s := m.told(r)
	for _, w := range r.watchers {
		m.emit(Notify{Watcher: w, State: s})
	}
}

func (m *Machine) fault(r *record, kind, cause error) error {
	return &resource.Error{
		Kind: kind, Type: r.typ.Name, Name: r.name,
		Server: m.config.Server.URI(), NodeID: m.config.NodeID, Err: cause,
	}
}

func (m *Machine) timerIsTransient() bool {
	return m.config.Server.HasFeature(bootstrap.FeatureResourceTimerIsTransientError)
}
