package tree

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A walker watches a resource and the resources that it refers to. One goroutine walks. The
// client's goroutines report changes to it.
type walker struct {
	client  resource.Client
	root    resource.Ref
	options options
	changed chan struct{} // has an element when there is a change

	// Owned by the goroutine that walks.
	nodes   map[resource.Ref]*node
	last    *Snapshot
	lastErr error
}

// A node is a watched resource.
type node struct {
	walker *walker
	cancel func()

	mu    sync.Mutex
	part  part
	known bool
}

func newWalker(c resource.Client, t resource.Type, name string, o options) (*walker, error) {
	root, err := t.Ref(c, name)
	if err != nil {
		return nil, err
	}
	return &walker{client: c, root: root, options: o, changed: make(chan struct{}, 1), nodes: make(map[resource.Ref]*node)}, nil
}

// start watches the root. The channel has an element when the root's watch ends: the error of its
// last event, or nil if ctx ended.
func (w *walker) start(ctx context.Context, t resource.TypeOf[resource.Update]) (ended <-chan error) {
	ctx, cancel := context.WithCancel(ctx)
	root := &node{walker: w, cancel: cancel}
	w.nodes[w.root] = root
	done := make(chan error, 1)
	go func() {
		defer close(done)
		var last error
		for ev := range t.Watch(ctx, w.client, w.root.Name.String()) {
			if last = ev.Err; !errors.Is(last, resource.ErrClosed) {
				root.notify(ev)
			}
		}
		if ctx.Err() == nil {
			done <- last
		}
	}()
	return done
}

func (w *walker) stop() {
	for _, n := range w.nodes {
		n.cancel()
	}
}

// walk follows the references from the root and subscribes to the resources that it meets. news
// reports whether there is an event: another complete snapshot, or another error.
func (w *walker) walk(ctx context.Context) (ev resource.Event[*Snapshot], news bool) {
	met := map[resource.Ref]bool{w.root: true}
	s, complete, err := w.follow(ctx, met)
	switch {
	case ctx.Err() != nil:
		return resource.Event[*Snapshot]{}, false // the watch ends; there is nothing to report
	case err != nil:
		ev, news = w.failed(err)
	case complete && !s.same(w.last):
		w.last, w.lastErr = s, nil
		ev, news = resource.Event[*Snapshot]{Update: s, Changed: true, Origin: s.parts[w.root].origin}, true
	}
	w.prune(met)
	return ev, news
}

// failed returns the event of an error, unless it is the same as before.
func (w *walker) failed(err error) (ev resource.Event[*Snapshot], news bool) {
	news = w.lastErr == nil || w.lastErr.Error() != err.Error()
	ev = resource.Event[*Snapshot]{Err: err, Changed: w.last != nil}
	w.last, w.lastErr = nil, err
	return ev, news
}

// follow walks level by level, and adds each reference to met. It is complete when every
// resource that it met is known.
func (w *walker) follow(ctx context.Context, met map[resource.Ref]bool) (s *Snapshot, complete bool, err error) {
	s = &Snapshot{parts: make(map[resource.Ref]part)}
	queue := []resource.Ref{w.root}
	complete = true
	for len(queue) > 0 && ctx.Err() == nil {
		r := queue[0]
		queue = queue[1:]
		p, known := w.node(r).get()
		if !known {
			complete = false
			continue
		}
		if r == w.root && p.update == nil {
			return nil, false, p.err
		}
		s.order = append(s.order, r)
		s.parts[r] = p
		if p.update == nil {
			continue
		}
		for next := range p.update.Refs() {
			if met[next] || !w.options.follow(p.update, next) {
				continue
			}
			if len(met) == w.options.limit {
				return nil, false, fmt.Errorf("%w: %d", ErrTooLarge, w.options.limit)
			}
			met[next] = true
			queue = append(queue, next)
		}
	}
	return s, complete, nil
}

// node returns the node of a resource. It starts a watch if there is none.
func (w *walker) node(r resource.Ref) *node {
	if n := w.nodes[r]; n != nil {
		return n
	}
	n := &node{walker: w}
	w.nodes[r] = n
	t, err := resource.Find(w.client, r.Type)
	if err == nil {
		n.cancel, err = t.Subscribe(w.client, r.Name.String(), n.notify)
	}
	if err != nil {
		n.cancel = func() {}
		n.notify(resource.Event[resource.Update]{Err: err})
	}
	return n
}

// prune stops the watches of resources that neither the references of this walk nor the last
// snapshot need. It runs after each walk, so references that change before their resources
// arrive leave no watch behind.
func (w *walker) prune(met map[resource.Ref]bool) {
	for r, n := range w.nodes {
		needed := met[r]
		if !needed && w.last != nil {
			_, needed = w.last.parts[r]
		}
		if !needed {
			n.cancel()
			delete(w.nodes, r)
		}
	}
}

func (n *node) get() (part, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.part, n.known
}

// notify records an event, unless the update is unchanged.
func (n *node) notify(ev resource.Event[resource.Update]) {
	if ev.Err == nil && !ev.Changed {
		return
	}
	n.mu.Lock()
	n.part, n.known = part{ev.Update, ev.Err, ev.Origin}, true
	n.mu.Unlock()
	select {
	case n.walker.changed <- struct{}{}:
	default:
	}
}
