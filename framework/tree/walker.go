package tree

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A walker watches a resource and what it refers to. One goroutine walks; the client's
// goroutines bring news.
type walker struct {
	client  resource.Source
	root    resource.Ref
	options options
	changed chan struct{} // has an element when there is news

	// Owned by the goroutine that walks.
	nodes   map[resource.Ref]*node
	last    *Snapshot
	lastErr error
}

// A node is a resource that is watched.
type node struct {
	walker *walker
	cancel func()

	mu    sync.Mutex
	part  part
	known bool
}

func newWalker(c resource.Source, root resource.Ref, o options) *walker {
	return &walker{client: c, root: root, options: o, changed: make(chan struct{}, 1), nodes: make(map[resource.Ref]*node)}
}

// start watches the root. The channel is closed when the root's watch ends, with ctx or
// with the client.
func (w *walker) start(ctx context.Context, t *resource.Descriptor) (ended <-chan struct{}, err error) {
	o, err := w.client.Observe(t, w.root.Name.String())
	if err != nil {
		return nil, err
	}
	root := &node{walker: w, cancel: o.Stop}
	w.nodes[w.root] = root
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			s, err := o.Next(ctx)
			if err != nil {
				return
			}
			root.tell(s.Update, s.Err)
		}
	}()
	return done, nil
}

func (w *walker) stop() {
	for _, n := range w.nodes {
		n.cancel()
	}
}

// walk follows the references from the root, and watches what it finds. news reports
// whether there is something to tell: another complete snapshot, or another error.
func (w *walker) walk(ctx context.Context) (s *Snapshot, err error, news bool) { //nolint:revive // as the iterator has them
	met := map[resource.Ref]bool{w.root: true}
	s, complete, err := w.follow(ctx, met)
	switch {
	case ctx.Err() != nil:
		return nil, nil, false //nolint:nilerr // the watch ends; there is nothing to tell
	case err != nil:
		news = w.lastErr == nil || w.lastErr.Error() != err.Error()
		w.last, w.lastErr = nil, err
	case !complete:
	default:
		news = !s.same(w.last)
		w.last, w.lastErr = s, nil
	}
	w.prune(met)
	return s, err, news
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

// node is the watch of a resource, which it begins where there is none.
func (w *walker) node(r resource.Ref) *node {
	if n := w.nodes[r]; n != nil {
		return n
	}
	n := &node{walker: w, cancel: func() {}}
	w.nodes[r] = n
	t, ok := w.client.Types().Lookup(r.Type)
	if !ok {
		n.tell(nil, fmt.Errorf("tree: %w %s; register its plugin", resource.ErrUnknownType, r.Type))
		return n
	}
	cancel, err := w.client.Subscribe(t, r.Name.String(), func(s, last resource.State) {
		if s.Update == nil || s.Update != last.Update {
			n.tell(s.Update, s.Err)
		}
	})
	if err != nil {
		n.tell(nil, err)
		return n
	}
	n.cancel = cancel
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

// tell takes what is known now. An update stays in use beside an error.
func (n *node) tell(u resource.Update, err error) {
	if u == nil && err == nil {
		err = errors.New("tree: nothing is known")
	}
	if u != nil {
		err = nil
	}
	n.mu.Lock()
	n.part, n.known = part{u, err}, true
	n.mu.Unlock()
	select {
	case n.walker.changed <- struct{}{}:
	default:
	}
}
