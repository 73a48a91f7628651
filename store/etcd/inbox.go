package etcd

import (
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// An inbox has the newest event of each changed key until the follower takes them. The goroutine that reads a watch
// puts events there and never waits, because the client library buffers events without bound.
type inbox struct {
	mu       sync.Mutex
	events   map[string]*clientv3.Event
	revision int64 // all events up to it are here, or were taken
	err      error // of the watch; the last thing that is taken
	ready    chan struct{}
}

func newInbox(revision int64) *inbox {
	return &inbox{events: make(map[string]*clientv3.Event), revision: revision, ready: make(chan struct{}, 1)}
}

// drain reads a watch until it ends.
func (b *inbox) drain(watch clientv3.WatchChan) {
	for r := range watch {
		var revision int64 // of the header: it may be later than the events, of which more follow
		if r.IsProgressNotify() {
			revision = r.Header.GetRevision()
		}
		b.put(r.Events, revision, r.Err())
		if r.Err() != nil {
			return
		}
	}
	b.put(nil, 0, errWatchEnded)
}

// put adds the events of one response, which has all events of each of its revisions.
func (b *inbox) put(events []*clientv3.Event, revision int64, err error) {
	b.mu.Lock()
	for _, e := range events {
		b.events[string(e.Kv.Key)] = e
		revision = max(revision, e.Kv.ModRevision)
	}
	if err == nil {
		b.revision = max(b.revision, revision)
	} else if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns all events and removes them.
func (b *inbox) take() (events map[string]*clientv3.Event, revision int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events = b.events
	b.events = make(map[string]*clientv3.Event)
	return events, b.revision, b.err
}

// reached reports whether all events up to a revision have arrived.
func (b *inbox) reached(revision int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.revision >= revision
}

func deleted(e *clientv3.Event) bool { return e.Type == mvccpb.DELETE }
