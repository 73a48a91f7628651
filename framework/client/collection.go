package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func isCollection(n xdstp.Name) bool { return n.String() == resource.Wildcard || n.IsGlob() }

// ObserveCollection implements [resource.Client].
func (c *Client) ObserveCollection(t *resource.Type, name string) (resource.CollectionObservation, error) {
	if err := c.known(t); err != nil {
		return nil, err
	}
	n, err := c.config.ParseName(name)
	if err != nil {
		return nil, fmt.Errorf("client: watching a collection of type %s: %w", t.ShortName(), err)
	}
	cannot := func(what string) error {
		return fmt.Errorf("client: %s has no %s; it is not declared for the type", t.Name, what)
	}
	switch {
	case n.IsCollection() && t.Collection == "":
		return nil, cannot("list collections")
	case n.IsCollection():
		return c.observeList(t, n)
	case n.IsGlob() && !t.Globs:
		return nil, cannot("glob collections")
	case n.String() == resource.Wildcard && !t.Wildcard:
		return nil, cannot("wildcard")
	case !isCollection(n):
		return nil, fmt.Errorf("client: %q is no collection of type %s: watch it as a resource", name, t.ShortName())
	}
	_, scope, err := c.locate(t, name)
	if err != nil {
		return nil, err
	}
	o := &collectionSubscription{box: newBox(c), scope: scope, typ: t, name: n}
	c.loop.post(gathered{o})
	return o, nil
}

// A box collects what is new of a collection for whoever asks: of each member the
// newest state.
type box struct {
	client *Client
	ready  chan struct{} // has a token when there is something new

	mu     sync.Mutex
	closed bool
	err    error
	fresh  bool // err was not taken yet
	order  []xdstp.Name
	states map[xdstp.Name]resource.State
	told   map[xdstp.Name]resource.State
	since  time.Time // for how long there has been something new
	work   *work
}

func newBox(c *Client) *box {
	return &box{
		client: c, ready: make(chan struct{}, 1),
		states: make(map[xdstp.Name]resource.State), told: make(map[xdstp.Name]resource.State),
	}
}

// put takes what is new of a member.
func (b *box) put(name xdstp.Name, s resource.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.started()
	if _, waits := b.states[name]; !waits {
		b.order = append(b.order, name)
	}
	b.states[name] = s
	b.signal()
}

// started notes when the first of what is new came. b.mu is held.
func (b *box) started() {
	if !b.fresh && len(b.order) == 0 {
		b.since = time.Now()
	}
}

// trouble takes what is new of the collection as a whole; nil ends earlier trouble.
func (b *box) trouble(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.started()
	b.err, b.fresh = err, err != nil
	b.signal()
}

// waitFor lets the stream wait until the owner has looked at what is new. Loop only.
func (b *box) waitFor(w *work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w != nil && b.work == nil && !b.closed {
		w.add()
		b.work = w
	}
}

// signal wakes the owner. b.mu is held.
func (b *box) signal() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take empties the box. A member that came and went while nobody looked is no news.
func (b *box) take() (s resource.CollectionState, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh {
		s.Err, b.fresh = b.err, false
	}
	for _, name := range b.order {
		next, last := b.states[name], b.told[name]
		if next == last || next.Update == nil && last.Update == nil && !last.Known() && isGone(next.Err) {
			continue
		}
		s.Members = append(s.Members, resource.MemberState{Name: name, State: next})
		if b.told[name] = next; next.Update == nil && isGone(next.Err) {
			delete(b.told, name)
		}
	}
	b.order = nil
	clear(b.states)
	if news = s.Err != nil || len(s.Members) > 0; !news && b.work != nil {
		b.work.done()
		b.work = nil
	}
	return s, news
}

// Next implements [resource.CollectionObservation].
func (b *box) Next(ctx context.Context) (resource.CollectionState, error) {
	for {
		b.mu.Lock()
		closed := b.closed
		b.mu.Unlock()
		switch {
		case closed || b.client.closed():
			return resource.CollectionState{}, resource.ErrClosed
		case ctx.Err() != nil:
			return resource.CollectionState{}, context.Cause(ctx)
		}
		if s, news := b.take(); news {
			return s, nil
		}
		select {
		case <-b.ready:
		case <-b.client.done:
		case <-ctx.Done():
		}
	}
}

// behind is for how long something new has waited to be taken.
func (b *box) behind(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh && len(b.order) == 0 {
		return 0
	}
	return now.Sub(b.since)
}

// stop reports whether it was the first to be called.
func (b *box) stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed = true
	b.order, b.states, b.told = nil, nil, nil
	if b.work != nil {
		b.work.done()
		b.work = nil
	}
	b.signal()
	return true
}

// isGone reports whether an error says that there is no such member.
func isGone(err error) bool { return errors.Is(err, resource.ErrNotFound) }

// A collectionSubscription is a subscription to a wildcard or a glob collection.
type collectionSubscription struct {
	*box
	scope *authorityScope
	typ   *resource.Type
	name  xdstp.Name
}

var _ authority.CollectionWatcher = (*collectionSubscription)(nil)

// Notify implements [authority.Watcher].
func (o *collectionSubscription) Notify(s resource.State) {
	o.waitFor(o.client.loop.work)
	o.trouble(s.Err)
}

// NotifyMember implements [authority.CollectionWatcher].
func (o *collectionSubscription) NotifyMember(name xdstp.Name, s resource.State) {
	o.waitFor(o.client.loop.work)
	o.put(name, s)
}

// Stop implements [resource.CollectionObservation].
func (o *collectionSubscription) Stop() {
	if o.stop() {
		o.client.loop.post(scattered{o})
	}
}
