package etcdtest_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// limit bounds every wait of a test. It is generous: the machine may be slow.
const limit = 60 * time.Second

// A reader is the sink of a session that wants everything.
type reader struct {
	mu      sync.Mutex
	has     map[source.Key]source.Resource
	state   source.State
	changes int // that had resources
	next    chan struct{}
}

var _ source.Sink = (*reader)(nil)

// open opens a session of a source.
func open(t *testing.T, s source.Source) *reader {
	t.Helper()
	r := &reader{has: make(map[source.Key]source.Resource), next: make(chan struct{})}
	session, err := s.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	session.Want([]source.Interest{{}}, nil)
	return r
}

// Apply implements [source.Sink].
func (r *reader) Apply(c source.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range c.Delete {
		delete(r.has, k)
	}
	for i := range c.Put {
		r.has[c.Put[i].Key] = c.Put[i]
	}
	if len(c.Put)+len(c.Delete) > 0 {
		r.changes++
	}
	r.changed()
	return nil
}

// State implements [source.Sink].
func (r *reader) State(s source.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
	r.changed()
}

func (r *reader) changed() {
	close(r.next)
	r.next = make(chan struct{})
}

// until waits until a condition holds. The condition is called with the mutex held.
func (r *reader) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		r.mu.Lock()
		ok, next, state, n := condition(), r.next, r.state, len(r.has)
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			t.Fatalf("the reader does not have %s after %v; it has %d resources and is %v", what, limit, n, state)
		}
	}
}

// untilBody waits for the content of a resource.
func (r *reader) untilBody(t *testing.T, k source.Key, body string) {
	t.Helper()
	r.until(t, k.Name+" = "+body, func() bool { return string(r.has[k].Body) == body })
}

func (r *reader) untilKind(t *testing.T, kind source.StateKind) {
	t.Helper()
	r.until(t, "the state "+kind.String(), func() bool { return r.state.Kind == kind })
}

// resources returns all resources.
func (r *reader) resources() map[source.Key]source.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.has)
}

// A resource that was committed before somebody subscribes to it is not reported as missing, although the watch of the
// reader may lag.
func TestCommittedResourcesAreNotMissing(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	publisher, server := store(t, etcd.Options{Endpoints: c.Endpoints()}), store(t, etcd.Options{Endpoints: c.Endpoints()})
	open(t, server).untilKind(t, source.Live)
	for i := range 300 {
		k := key(fmt.Sprint("name-", i))
		first := &firstAnswer{key: k, answer: make(chan bool, 1)}
		session, err := server.Open(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		put(t, publisher, k.Name, "1")
		session.Want([]source.Interest{source.Interest(k)}, nil)
		if !<-first.answer {
			t.Fatalf("subscription %d: a resource that was committed is reported as missing", i)
		}
	}
	gone := &firstAnswer{key: key("gone"), answer: make(chan bool, 1)}
	session, err := server.Open(t.Context(), gone)
	if err != nil {
		t.Fatal(err)
	}
	session.Want([]source.Interest{source.Interest(gone.key)}, nil)
	if <-gone.answer {
		t.Error("a resource that does not exist is reported")
	}
}

// A firstAnswer is a sink that tells whether the first change for a name has its resource.
type firstAnswer struct {
	key    source.Key
	once   sync.Once
	answer chan bool
}

// Apply implements [source.Sink].
func (f *firstAnswer) Apply(ch source.Change) error {
	f.once.Do(func() { f.answer <- len(ch.Put) == 1 && ch.Put[0].Key == f.key })
	return nil
}

// State implements [source.Sink].
func (f *firstAnswer) State(source.State) {}
