package tree

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// MaxResources bounds a tree: what it refers to comes from control planes. References
// beyond that are in error, with ErrTooLarge.
const MaxResources = 100_000

// ErrTooLarge is the error of the references that a tree has no room for.
var ErrTooLarge = errors.New("the tree of resources is too large")

// Watch follows a resource and all that it refers to, and yields every newest snapshot that
// is complete. It ends with ctx, with the client's Close, or after yielding the error of a
// call that could not subscribe to the root. Trouble with resources, the root included, is in the
// snapshots.
func Watch(ctx context.Context, c resource.Client, t *resource.Type, name string) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		newFollower(c, MaxResources).watch(ctx, t, name, yield)
	}
}

// A follower belongs to the goroutine that iterates, but for what mu guards.
type follower struct {
	client   resource.Client
	limit    int
	tooLarge error
	nodes    map[resource.Ref]*node
	changed  chan struct{} // has a token when a state has changed

	mu sync.Mutex // guards the nodes' states
}

// A node is a resource that is watched. It is the watcher.
type node struct {
	follower *follower
	state    resource.State // guarded by the follower's mutex
	stop     func()
}

func newFollower(c resource.Client, limit int) *follower {
	return &follower{
		client: c, limit: limit, tooLarge: fmt.Errorf("tree: %w; at most %d", ErrTooLarge, limit),
		nodes: make(map[resource.Ref]*node), changed: make(chan struct{}, 1),
	}
}

func (f *follower) watch(ctx context.Context, t *resource.Type, name string, yield func(*Snapshot, error) bool) {
	// The root is observed: only observations tell that the client was closed.
	o, err := f.client.Observe(t, name)
	if err != nil {
		yield(nil, err)
		return
	}
	n, err := f.client.ParseName(name)
	if err != nil {
		yield(nil, err)
		return
	}
	root := resource.Ref{Type: t.Name, Name: n}
	rootNode := &node{follower: f, stop: o.Stop}
	f.nodes[root] = rootNode
	ctx, end := context.WithCancel(ctx)
	var observing sync.WaitGroup
	observing.Go(func() { rootNode.observe(ctx, o, end) })
	defer func() {
		end()
		for _, n := range f.nodes {
			n.stop()
		}
		observing.Wait()
	}()

	var last *Snapshot
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
		}
		s := f.snapshot(root)
		if s == nil || s.same(last) {
			continue
		}
		last = s
		if !yield(s, nil) {
			return
		}
	}
}

func (n *node) observe(ctx context.Context, o resource.Observation, end func()) {
	defer end()
	for {
		s, err := o.Next(ctx)
		if err != nil {
			return
		}
		n.set(func(old *resource.State) { *old = s })
	}
}

// snapshot walks from the root, watching what is new, and returns what it found if that is
// complete. What it did not come across then is not watched any longer.
func (f *follower) snapshot(root resource.Ref) *Snapshot {
	s := &Snapshot{refs: []resource.Ref{root}, states: make(map[key]resource.State)}
	complete := true
	seen := map[resource.Ref]bool{root: true}
	for i := 0; i < len(s.refs); i++ { // it grows
		state := resource.State{Err: f.tooLarge}
		if i < f.limit {
			state = f.state(s.refs[i])
		}
		complete = complete && state.Known()
		s.states[keyOf(s.refs[i])] = state
		if state.Update == nil {
			continue
		}
		for r := range state.Update.Refs() {
			if !seen[r] {
				seen[r] = true
				s.refs = append(s.refs, r)
			}
		}
	}
	if !complete {
		return nil
	}
	for r, n := range f.nodes {
		if !seen[r] {
			n.stop()
			delete(f.nodes, r)
		}
	}
	return s
}

// state is what is known of a resource, which is watched from now on.
func (f *follower) state(r resource.Ref) resource.State {
	n, ok := f.nodes[r]
	if !ok {
		n = f.node(r)
		f.nodes[r] = n
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return n.state
}

// node begins to watch a resource.
func (f *follower) node(r resource.Ref) *node {
	n := &node{follower: f, stop: func() {}}
	t, ok := f.client.Types().Lookup(r.Type)
	if !ok {
		n.state.Err = fmt.Errorf("tree: %w %s; register its plugin", resource.ErrUnknownType, r.Type)
		return n
	}
	stop, err := f.client.Subscribe(t, r.Name.String(), n)
	if err != nil {
		n.state.Err = err
		return n
	}
	n.stop = stop
	return n
}

// set changes a node's state. Any goroutine.
func (n *node) set(change func(*resource.State)) {
	n.follower.mu.Lock()
	change(&n.state)
	n.follower.mu.Unlock()
	select {
	case n.follower.changed <- struct{}{}:
	default:
	}
}

// Changed implements [resource.Watcher].
func (n *node) Changed(u resource.Update) {
	n.set(func(s *resource.State) { *s = resource.State{Update: u} })
}

// Failed implements [resource.Watcher].
func (n *node) Failed(err error) { n.set(func(s *resource.State) { *s = resource.State{Err: err} }) }

// Ambient implements [resource.Watcher].
func (n *node) Ambient(err error) { n.set(func(s *resource.State) { s.Err = err }) }
