package clustermanager

import (
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/node"
)

// An entry is what one name that calls have for a cluster stands for. It sleeps until the
// first call comes to it: of a thousand clusters that routes name, a program calls few.
type entry struct {
	name  string
	child child // nil: it sleeps
	state balancer.State
	slot  *slot
}

// A sleeper is the picker of an entry that sleeps.
type sleeper struct{ wake func() }

// Pick has the call wait until the entry has children.
func (s *sleeper) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	s.wake()
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

func (e *entry) set(s balancer.State) {
	e.state = s
	e.slot.set(s.Picker)
}

// add makes an entry that sleeps.
func (m *manager) add(name string) *entry {
	e := &entry{name: name, slot: new(slot)}
	wake := sync.OnceFunc(func() { m.loop.Post(func() { m.wake(e) }) })
	e.set(balancer.State{ConnectivityState: connectivity.Idle, Picker: &sleeper{wake}})
	m.children[name] = e
	return e
}

// wake has an entry connect.
func (m *manager) wake(e *entry) {
	if m.children[e.name] != e || e.child != nil {
		return
	}
	m.start(e)
	m.tell(e)
}

func (m *manager) start(e *entry) {
	m.changed = true
	e.set(node.Connecting())
	report := func(s balancer.State) {
		e.set(node.Sticky(e.state, s))
		m.changed = true
	}
	if _, ok := m.around.State.Config.Plugins[e.name]; ok {
		e.child = newPlugin(m.around, e.name, report)
	} else {
		e.child = newRoot(m.around, e.name, report)
	}
}

// tell has an entry look at the newest state, unless it sleeps. The cluster that the
// policy's own configuration names does not sleep: whoever names it has a call for it. It
// may have to be waited for.
func (m *manager) tell(e *entry) {
	if m.config.Cluster != "" {
		if e.child == nil {
			m.start(e)
		}
		if _, there := m.around.State.Config.Clusters[e.name]; !there {
			return
		}
	}
	if e.child != nil {
		e.child.update()
	}
}

// exitIdle has all entries connect that do not sleep. If all do, it wakes the first by name:
// who waits for the channel to be ready without making calls must not wait forever.
func (m *manager) exitIdle() {
	var first *entry
	sleeping := true
	for _, e := range m.children {
		if e.child != nil {
			sleeping = false
			e.child.ExitIdle()
		}
		if first == nil || e.name < first.name {
			first = e
		}
	}
	if sleeping && first != nil {
		m.wake(first)
	}
}

func (e *entry) close() {
	if e.child != nil {
		e.child.Close()
	}
}
