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
	watches map[resource.Ref]*resourceWatch
	last    *Snapshot
	lastErr error
}

// A resourceWatch is a watched resource.
type resourceWatch struct {
	walker *walker
	cancel func()

	mu    sync.Mutex
	entry entry
	known bool
}

func newWalker(c resource.Client, t resource.Type, name string, o options) (*walker, error) {
	root, err := t.Ref(c, name)
	if err != nil {
		return nil, err
	}
	return &walker{client: c, root: root, options: o, changed: make(chan struct{}, 1), watches: make(map[resource.Ref]*resourceWatch)}, nil
}

// start watches the root. The channel has an element when the root's watch ends: the error of its
// last event, or nil if ctx ended.
func (w *walker) start(ctx context.Context, t resource.TypeOf[resource.Update]) (ended <-chan error) {
	ctx, cancel := context.WithCancel(ctx)
	root := &resourceWatch{walker: w, cancel: cancel}
	w.watches[w.root] = root
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
	for _, rw := range w.watches {
		rw.cancel()
	}
}

// walk follows the references from the root and subscribes to the resources that it meets. changed
// reports whether there is an event: another complete snapshot, or another error.
func (w *walker) walk(ctx context.Context) (ev resource.Event[*Snapshot], changed bool) {
	met := map[resource.Ref]bool{w.root: true}
	s, complete, err := w.follow(ctx, met)
	switch {
	case ctx.Err() != nil:
		return resource.Event[*Snapshot]{}, false // the watch ends; there is nothing to report
	case err != nil:
		ev, changed = w.failed(err)
	case complete && !s.same(w.last):
		w.last, w.lastErr = s, nil
		ev, changed = resource.Event[*Snapshot]{Update: s, Changed: true, Origin: s.entries[w.root].origin}, true
	}
	w.prune(met)
	return ev, changed
}

// failed returns the event of an error, unless it is the same as before.
func (w *walker) failed(err error) (ev resource.Event[*Snapshot], changed bool) {
	changed = w.lastErr == nil || w.lastErr.Error() != err.Error()
	ev = resource.Event[*Snapshot]{Err: err, Changed: w.last != nil}
	w.last, w.lastErr = nil, err
	return ev, changed
}

// follow walks level by level, and adds each reference to met. It is complete when every
// resource that it met is known.
func (w *walker) follow(ctx context.Context, met map[resource.Ref]bool) (s *Snapshot, complete bool, err error) {
	s = &Snapshot{entries: make(map[resource.Ref]entry)}
	queue := []resource.Ref{w.root}
	complete = true
	for len(queue) > 0 && ctx.Err() == nil {
		r := queue[0]
		queue = queue[1:]
		p, known := w.watch(r).get()
		if !known {
			complete = false
			continue
		}
		if r == w.root && p.update == nil {
			return nil, false, p.err
		}
		s.order = append(s.order, r)
		s.entries[r] = p
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

// watch returns the watch of a resource. It starts one if there is none.
func (w *walker) watch(r resource.Ref) *resourceWatch {
	if rw := w.watches[r]; rw != nil {
		return rw
	}
	rw := &resourceWatch{walker: w}
	w.watches[r] = rw
	t, err := resource.Find(w.client, r.Type)
	if err == nil {
		rw.cancel, err = t.Subscribe(w.client, r.Name.String(), rw.notify)
	}
	if err != nil {
		rw.cancel = func() {}
		rw.notify(resource.Event[resource.Update]{Err: err})
	}
	return rw
}

// prune stops the watches of resources that neither the references of this walk nor the last
// snapshot need. It runs after each walk, so references that change before their resources
// arrive leave no watch behind.
func (w *walker) prune(met map[resource.Ref]bool) {
	for r, rw := range w.watches {
		needed := met[r]
		if !needed && w.last != nil {
			_, needed = w.last.entries[r]
		}
		if !needed {
			rw.cancel()
			delete(w.watches, r)
		}
	}
}

func (rw *resourceWatch) get() (entry, bool) {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	return rw.entry, rw.known
}

// notify records an event, unless the update is unchanged.
func (rw *resourceWatch) notify(ev resource.Event[resource.Update]) {
	if ev.Err == nil && !ev.Changed {
		return
	}
	rw.mu.Lock()
	rw.entry, rw.known = entry{ev.Update, ev.Err, ev.Origin}, true
	rw.mu.Unlock()
	select {
	case rw.walker.changed <- struct{}{}:
	default:
	}
}
