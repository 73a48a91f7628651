package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func isCollection(n xdstp.Name) bool { return n.String() == resource.Wildcard || n.IsGlob() }

// ObserveCollection implements [resource.Source].
func (c *Client) ObserveCollection(t *resource.Descriptor, name string) (resource.CollectionObservation, error) {
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
	o := &collectionSubscription{collectionMailbox: newCollectionMailbox(c), scope: scope, record: scope.machine.Handle(t, n)}
	c.spans.subscribe(context.Background(), c, o, t, n)
	c.loop.post(func() {
		o.record = scope.machine.Watch(o.record, o, c.loop.now)
		c.loop.authority(scope)
	})
	return o, nil
}

// A collectionSubscription is a subscription to a wildcard or a glob collection.
type collectionSubscription struct {
	*collectionMailbox
	scope  *authorityScope
	record authority.Handle // set before the subscription begins; then loop only
}

var _ authority.CollectionWatcher = (*collectionSubscription)(nil)

// Notify implements [authority.Watcher].
func (o *collectionSubscription) Notify(s resource.State) {
	if spans := o.client.spans; spans != nil {
		spans.deliver(o, s)
	}
	o.client.loop.fill(o.collectionMailbox)
	there := s.Origin != resource.OriginNone
	o.trouble(s.Err, there)
	if there {
		o.sync()
	}
}

// NotifyMember implements [authority.CollectionWatcher].
func (o *collectionSubscription) NotifyMember(name xdstp.Name, s resource.State) {
	o.client.loop.fill(o.collectionMailbox)
	o.put(name, s)
}

// Stop implements [resource.CollectionObservation].
func (o *collectionSubscription) Stop() {
	if o.stop() {
		l := o.client.loop
		l.post(func() {
			o.client.spans.cancel(o)
			o.scope.machine.Cancel(o.record, o, l.now)
			l.authority(o.scope)
		})
	}
}

// A collectionMailbox collects the changes of a collection for its owner: the newest state of each member.
type collectionMailbox struct {
	client *Client
	ready  chan struct{} // has a token when there is a change
	noted  bool          // it is in loop.filled; loop only

	mu       sync.Mutex
	closed   bool
	filling  int // calls of hold without release: the owner takes no part of a set of changes
	err      error
	usable   bool // the collection is usable, in spite of err
	fresh    bool // err was not taken yet
	synced   bool // every member that existed at first was put
	knows    bool // synced was taken
	states   map[xdstp.Name]arrival
	last     uint64 // number of an arrival
	taken    map[xdstp.Name]resource.State
	since    time.Time // since when a change has been waiting
	delivery *delivery
}

// An arrival is the newest state of a member, with the number of its first change that was not
// taken.
type arrival struct {
	resource.State
	number uint64
}

func newCollectionMailbox(c *Client) *collectionMailbox {
	return &collectionMailbox{
		client: c, ready: make(chan struct{}, 1),
		states: make(map[xdstp.Name]arrival), taken: make(map[xdstp.Name]resource.State),
	}
}

// put records the newest state of a member. It drops a member that came and went before the owner
// looked, because such members must not pile up.
func (b *collectionMailbox) put(name xdstp.Name, s resource.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.started()
	a, waits := b.states[name]
	if !waits {
		b.last++
		a.number = b.last
	}
	a.State = s
	b.states[name] = a
	if _, told := b.taken[name]; !told && s.Update == nil && isGone(s.Err) {
		delete(b.states, name)
	}
	b.signal()
}

// started records the time of the first pending change. b.mu is held.
func (b *collectionMailbox) started() {
	if !b.pending() {
		b.since = time.Now()
	}
}

// trouble records the newest problem of the collection as a whole, and whether the collection is
// still usable. Nil ends an earlier problem.
func (b *collectionMailbox) trouble(err error, usable bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.started()
	b.err, b.usable, b.fresh = err, usable, err != nil
	b.signal()
}

// pending reports whether there is a change to take. b.mu is held.
func (b *collectionMailbox) pending() bool {
	return b.fresh || len(b.states) > 0 || b.synced != b.knows
}

// sync records that put has been called for every member that existed at first.
func (b *collectionMailbox) sync() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.synced || b.closed {
		return
	}
	b.started()
	b.synced = true
	b.signal()
}

// waitFor makes the stream wait until the owner has taken the changes. Loop only.
func (b *collectionMailbox) waitFor(d *delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d != nil && b.delivery == nil && !b.closed {
		d.add()
		b.delivery = d
	}
}

// hold keeps changes from the owner until release, so that the owner takes them together.
func (b *collectionMailbox) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filling++
}

// release ends a hold.
func (b *collectionMailbox) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filling--
	b.signal()
}

// signal wakes the owner, unless more changes are to come. b.mu is held.
func (b *collectionMailbox) signal() {
	if b.filling > 0 && !b.closed {
		return
	}
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns the pending changes and empties the mailbox.
func (b *collectionMailbox) take() (s resource.CollectionState, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.filling > 0 {
		return s, false
	}
	if b.fresh && b.usable {
		s.Ambient = b.err
	} else if b.fresh {
		s.Err = b.err
	}
	b.fresh = false
	for _, name := range b.inOrder() {
		next, last := b.states[name].State, b.taken[name]
		if next == last {
			continue
		}
		s.Members = append(s.Members, resource.MemberState{Name: name, State: next, Last: last.Update})
		if b.taken[name] = next; next.Update == nil && isGone(next.Err) {
			delete(b.taken, name)
		}
	}
	clear(b.states)
	changed = s.Err != nil || s.Ambient != nil || len(s.Members) > 0 || b.synced != b.knows
	s.Synced, b.knows = b.synced, b.synced
	if !changed && b.delivery != nil {
		b.delivery.done()
		b.delivery = nil
	}
	return s, changed
}

// inOrder returns the names of the changed members, ordered by their first change.
func (b *collectionMailbox) inOrder() []xdstp.Name {
	return slices.SortedFunc(maps.Keys(b.states), func(x, y xdstp.Name) int {
		return cmp.Compare(b.states[x].number, b.states[y].number)
	})
}

// Next implements [resource.CollectionObservation].
func (b *collectionMailbox) Next(ctx context.Context) (resource.CollectionState, error) {
	return await(ctx, b.client, b.ready, b.open, b.take)
}

func (b *collectionMailbox) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && !b.client.closed()
}

// behind returns for how long a change has been waiting.
func (b *collectionMailbox) behind(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.pending() {
		return 0
	}
	return now.Sub(b.since)
}

// stop reports whether this was the first call.
func (b *collectionMailbox) stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed = true
	b.states, b.taken = nil, nil
	if b.delivery != nil {
		b.delivery.done()
		b.delivery = nil
	}
	b.signal()
	return true
}

// isGone reports whether an error means that there is no such member.
func isGone(err error) bool { return errors.Is(err, resource.ErrNotFound) }
