package client

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A box collects the changes of a collection for its owner: the newest state of each member.
type box struct {
	client *Client
	ready  chan struct{} // has a token when there is a change

	mu     sync.Mutex
	closed bool
	err    error
	usable bool // the collection is usable, in spite of err
	fresh  bool // err was not taken yet
	synced bool // every member that existed at first was put
	knows  bool // synced was taken
	states map[xdstp.Name]arrival
	last   uint64 // number of an arrival
	told   map[xdstp.Name]resource.State
	since  time.Time // since when a change has been waiting
	work   *work
}

// An arrival is the newest state of a member, with the number of its first change that was not
// taken.
type arrival struct {
	resource.State
	number uint64
}

func newBox(c *Client) *box {
	return &box{
		client: c, ready: make(chan struct{}, 1),
		states: make(map[xdstp.Name]arrival), told: make(map[xdstp.Name]resource.State),
	}
}

// put records the newest state of a member. It drops a member that came and went before the owner
// looked, because such members must not pile up.
func (b *box) put(name xdstp.Name, s resource.State) {
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
	if _, told := b.told[name]; !told && s.Update == nil && isGone(s.Err) {
		delete(b.states, name)
	}
	b.signal()
}

// started records the time of the first pending change. b.mu is held.
func (b *box) started() {
	if !b.news() {
		b.since = time.Now()
	}
}

// trouble records the newest problem of the collection as a whole, and whether the collection is
// still usable. Nil ends an earlier problem.
func (b *box) trouble(err error, usable bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.started()
	b.err, b.usable, b.fresh = err, usable, err != nil
	b.signal()
}

// news reports whether there is a change to take. b.mu is held.
func (b *box) news() bool { return b.fresh || len(b.states) > 0 || b.synced != b.knows }

// sync records that put has been called for every member that existed at first.
func (b *box) sync() {
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

// take returns the pending changes and empties the box.
func (b *box) take() (s resource.CollectionState, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh && b.usable {
		s.Ambient = b.err
	} else if b.fresh {
		s.Err = b.err
	}
	b.fresh = false
	for _, name := range b.inOrder() {
		next, last := b.states[name].State, b.told[name]
		if next == last {
			continue
		}
		s.Members = append(s.Members, resource.MemberState{Name: name, State: next, Last: last.Update})
		if b.told[name] = next; next.Update == nil && isGone(next.Err) {
			delete(b.told, name)
		}
	}
	clear(b.states)
	news = s.Err != nil || s.Ambient != nil || len(s.Members) > 0 || b.synced != b.knows
	s.Synced, b.knows = b.synced, b.synced
	if !news && b.work != nil {
		b.work.done()
		b.work = nil
	}
	return s, news
}

// inOrder returns the names of the changed members, ordered by their first change.
func (b *box) inOrder() []xdstp.Name {
	return slices.SortedFunc(maps.Keys(b.states), func(x, y xdstp.Name) int {
		return cmp.Compare(b.states[x].number, b.states[y].number)
	})
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

// behind returns for how long a change has been waiting.
func (b *box) behind(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.news() {
		return 0
	}
	return now.Sub(b.since)
}

// stop reports whether this was the first call.
func (b *box) stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed = true
	b.states, b.told = nil, nil
	if b.work != nil {
		b.work.done()
		b.work = nil
	}
	b.signal()
	return true
}

// isGone reports whether an error means that there is no such member.
func isGone(err error) bool { return errors.Is(err, resource.ErrNotFound) }
