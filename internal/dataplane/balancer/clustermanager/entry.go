package clustermanager

import (
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
)

// An entry is a target of calls: a cluster or a plugin. It builds its child for the first call,
// because programs call few of the clusters that routes name.
type entry struct {
	name  string
	child child // nil: not built yet
	state balancer.State
	slot  *slot
}

// A sleeper is the picker of an entry without a child.
type sleeper struct{ wake func() }

// Pick makes the call wait until the entry has a child.
func (s *sleeper) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	s.wake()
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

func (e *entry) set(s balancer.State) {
	e.state = s
	e.slot.set(s.Picker)
}

// add makes an entry without a child.
func (m *manager) add(name string) *entry {
	e := &entry{name: name, slot: new(slot)}
	wake := sync.OnceFunc(func() { m.loop.Post(func() { m.wake(e) }) })
	e.set(balancer.State{ConnectivityState: connectivity.Idle, Picker: &sleeper{wake}})
	m.children[name] = e
	return e
}

// wake builds the child of an entry and connects it.
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

// tell updates the child of an entry to the newest state. It builds the child of the cluster in the
// policy's own configuration, because the policy above has a call for it. That cluster may not be
// in the state yet.
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

// exitIdle connects all entries that have a child. If none has, it wakes the first by name.
// Otherwise a program that waits for the channel to be ready, without making calls, would wait
// forever.
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
