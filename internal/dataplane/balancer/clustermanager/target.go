package clustermanager

import (
	"errors"
	"sync"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/policy"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// An entry is a target of calls: a cluster or a plugin. Its child is created for the first call,
// because programs call few of the clusters that routes name.
type entry struct {
	name  string
	child child // nil: not created yet
	state balancer.State
	slot  *slot
}

// A child is the policy of an entry.
type child interface {
	// update applies the newest state.
	update()
	// describe adds the leaves, or the LB policies of a plugin.
	describe(*clusterView)
	ExitIdle()
	Close()
}

// A creator is the picker of an entry without a child.
type creator struct{ create func() }

// Pick makes the call wait until the entry has a child.
func (c *creator) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	c.create()
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

func (e *entry) set(s balancer.State) {
	e.state = s
	e.slot.set(s.Picker)
}

func (e *entry) end() {
	if e.child != nil {
		e.child.Close()
	}
}

// add adds an entry without a child.
func (m *manager) add(name string) *entry {
	e := &entry{name: name, slot: new(slot)}
	create := sync.OnceFunc(func() { m.env.Loop.Post(func() { m.create(e) }) })
	e.set(balancer.State{ConnectivityState: connectivity.Idle, Picker: &creator{create}})
	m.children[name] = e
	return e
}

// create creates the child of an entry and updates it.
func (m *manager) create(e *entry) {
	if m.children[e.name] != e || e.child != nil {
		return
	}
	m.start(e)
	m.updateEntry(e)
}

func (m *manager) start(e *entry) {
	m.changed = true
	e.set(lbtree.Connecting())
	report := func(s balancer.State) {
		e.set(lbtree.Sticky(e.state, s))
		m.changed = true
	}
	if _, ok := m.env.State.Config.Plugins[e.name]; ok {
		e.child = newPlugin(m.env, e.name, report)
	} else {
		e.child = newTargetCluster(m.env, e.name, report)
	}
}

// updateEntry updates the child of an entry to the newest state. It creates the child of the
// cluster in the policy's own configuration, because the policy above has a call for it. That
// cluster may not be in the state yet.
func (m *manager) updateEntry(e *entry) {
	if m.config.Cluster != "" {
		if e.child == nil {
			m.start(e)
		}
		if _, ok := m.env.State.Config.Clusters[e.name]; !ok {
			return
		}
	}
	if e.child != nil {
		e.child.update()
	}
}

// exitIdle connects all entries that have a child. If none has, it connects the first by name.
func (m *manager) exitIdle() {
	for _, e := range m.children {
		if e.child != nil {
			e.child.ExitIdle()
		}
	}
	m.connectFirst()
}

// connectFirst creates the child of the first entry by name, if no entry has one. Otherwise a program
// that waits for the channel to be ready, without making calls, would wait forever. While there are
// calls that create the children that they need, it postpones its work until these calls have ended.
func (m *manager) connectFirst() {
	var first *entry
	for _, e := range m.children {
		if e.child != nil {
			return
		}
		if first == nil || e.name < first.name {
			first = e
		}
	}
	if first == nil || m.postponed {
		return
	}
	if waiting := m.env.State.Waiting; waiting != nil {
		m.postponed = waiting(func() {
			m.env.Loop.Post(func() {
				m.postponed = false
				m.connectFirst()
			})
		})
	}
	if !m.postponed {
		m.create(first)
	}
}

var errNoLeaves = errors.New("aggregate cluster has no usable leaf cluster (A37)")

// A targetCluster has the leaf clusters of an aggregate, in order of preference, or the cluster
// itself (A37, A75).
type targetCluster struct {
	*priorities[*leafCluster]
	tree *lbtree.Env
	name string
}

func newTargetCluster(tree *lbtree.Env, name string, report lbtree.Report) *targetCluster {
	return &targetCluster{tree: tree, name: name, priorities: newPriorities(tree.Loop,
		func(name string, report lbtree.Report) *leafCluster { return newLeafCluster(tree, name, report) },
		func(name string, c *leafCluster) {
			config, ok := tree.State.Config.Clusters[name]
			if !ok {
				config.Err = errUnknown
			}
			c.Update(config)
		}, report)}
}

func (t *targetCluster) update() {
	c, ok := t.tree.State.Config.Clusters[t.name]
	leaves := c.Leaves
	var err error
	switch {
	case !ok:
		err = errUnknown
	case c.Err != nil:
		leaves, err = nil, c.Err
	case leaves == nil:
		leaves = []string{t.name}
	case len(leaves) == 0:
		err = errNoLeaves
	}
	t.Update(leaves)
	if err != nil {
		t.report(lbtree.Failure(clusterError(t.name, err, nil)))
	}
}

// A plugin is the policy of a cluster specifier plugin. It chooses clusters, and has this package's
// policy as a child for each.
type plugin struct {
	*policy.Switch
	tree *lbtree.Env
	env  *lbtree.Env // for the policies of the plugin
	name string
}

// belowPluginKey marks the attributes of the resolver.State below a plugin's policy.
type belowPluginKey struct{}

// belowPlugin reports whether a manager is below a plugin's policy. Its configuration must then have
// a cluster. With the targets of the routes, the manager would run the plugin again below itself.
func belowPlugin(a *attributes.Attributes) bool { return a.Value(belowPluginKey{}) != nil }

func newPlugin(tree *lbtree.Env, name string, report lbtree.Report) *plugin {
	env := &lbtree.Env{Loop: tree.Loop, Conn: loopConn{tree.Conn, tree.Loop}, Options: tree.Options}
	return &plugin{policy.New(env, report), tree, env, name}
}

func (p *plugin) update() {
	p.env.State, p.env.Attributes = p.tree.State, p.tree.Attributes.WithValue(belowPluginKey{}, true)
	p.Update(lbtree.Target{Policy: p.tree.State.Config.Plugins[p.name], Chooses: true})
}
