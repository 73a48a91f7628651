package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A recorder forwards its events to the test.
type recorder struct {
	changed         func(resource.Update)
	failed, ambient func(error)
}

func (r recorder) Changed(u resource.Update) {
	if r.changed != nil {
		r.changed(u)
	}
}

func (r recorder) Failed(err error) {
	if r.failed != nil {
		r.failed(err)
	}
}

func (r recorder) Ambient(err error) {
	if r.ambient != nil {
		r.ambient(err)
	}
}

// A watcher has one method for each part of a state.
type watcher interface {
	Changed(u resource.Update)
	Failed(err error)
	Ambient(err error)
}

// lookup and get return updates of the tests.
func lookup(c resource.Client, d *resource.Descriptor, name string) (*update, bool) {
	u, ok := d.Handle().Lookup(c, name)
	if !ok {
		return nil, false
	}
	return u.(*update), true
}

func get(ctx context.Context, c resource.Client, d *resource.Descriptor, name string) (*update, error) {
	u, err := d.Handle().Get(ctx, c, name)
	if err != nil {
		return nil, err
	}
	return u.(*update), nil
}

// delivered returns the function of a subscription that calls a watcher.
func delivered(w watcher) func(next, last resource.State) {
	return func(next, last resource.State) {
		if next.Update == nil {
			w.Failed(next.Err)
			return
		}
		changed := next.Update != last.Update
		if changed {
			w.Changed(next.Update)
		}
		if next.Err != nil || !changed && last.Err != nil {
			w.Ambient(next.Err)
		}
	}
}

func tag(u resource.Update) string { return u.(*update).tag }

func receive[T any](ctx context.Context, t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-ctx.Done():
		t.Fatalf("timeout waiting for %s", what)
		panic("unreachable")
	}
}

func TestCallbacks(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	changed, ambient := make(chan string, 10), make(chan error, 10)
	cancel, err := c.Subscribe(clusters, "a", delivered(recorder{
		changed: func(u resource.Update) { changed <- tag(u) },
		ambient: func(err error) { ambient <- err },
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	if got := receive(ctx, t, "the first value", changed); got != "1" {
		t.Errorf("Changed(%s), want 1", got)
	}
	bad := cluster("a", "2")
	bad.LbPolicy = 5 // MAGLEV
	set(t, s, "a", bad)
	if err := receive(ctx, t, "the rejection", ambient); !errors.Is(err, resource.ErrInvalid) {
		t.Errorf("Ambient(%v), want ErrInvalid", err)
	}
	set(t, s, "a", cluster("a", "1")) // the bytes from before the rejection
	if err := receive(ctx, t, "the end of the trouble", ambient); err != nil {
		t.Errorf("Ambient(%v), want nil", err)
	}
	select {
	case got := <-changed:
		t.Errorf("Changed(%s) although nothing changed", got)
	default:
	}
}

func TestWatchingAndCancellingInsideHandlers(t *testing.T) {
	s := startServer(t)
	set(t, s, "outer", cluster("outer", "1"))
	set(t, s, "inner", cluster("inner", "2"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	done := make(chan string, 10)
	cancels := make(chan func(), 2)
	cancelOuter, err := c.Subscribe(clusters, "outer", delivered(recorder{changed: func(resource.Update) {
		(<-cancels)()
		cancelInner, err := c.Subscribe(clusters, "inner", delivered(recorder{changed: func(u resource.Update) {
			(<-cancels)()
			done <- tag(u)
		}}))
		if err != nil {
			t.Error(err)
		}
		cancels <- cancelInner
	}}))
	if err != nil {
		t.Fatal(err)
	}
	cancels <- cancelOuter
	if got := receive(ctx, t, "the inner watch", done); got != "2" {
		t.Errorf("inner = %s, want 2", got)
	}
}

func TestBlockedWatcherHoldsUpNobody(t *testing.T) {
	s := startServer(t)
	for _, n := range []string{"a", "b", "c", "d"} {
		set(t, s, n, cluster(n, "1"))
	}
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	release, blocked := make(chan struct{}), make(chan struct{}, 10)
	defer close(release)
	for _, n := range []string{"a", "b", "c"} { // more than there are workers
		if _, err := c.Subscribe(clusters, n, delivered(recorder{changed: func(resource.Update) {
			blocked <- struct{}{}
			<-release
		}})); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		receive(ctx, t, "a watcher to block", blocked)
	}
	got := make(chan string, 10)
	if _, err := c.Subscribe(clusters, "d", delivered(recorder{changed: func(u resource.Update) { got <- tag(u) }})); err != nil {
		t.Fatal(err)
	}
	receive(ctx, t, "a watcher beside blocked ones", got)
	set(t, s, "d", cluster("d", "2"))
	if v := receive(ctx, t, "its next value", got); v != "2" {
		t.Errorf("got %s, want 2", v)
	}
	if err := c.Close(); err != nil { // although three watchers never return
		t.Fatal(err)
	}
}

func TestManyBlockedWatchersHoldUpNobody(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	follow(ctx, t, c, clusters, "a").value("1")
	release := make(chan struct{})
	defer close(release)
	for range 5000 { // one more worker at a time would take minutes
		if _, err := c.Subscribe(clusters, "a", delivered(recorder{changed: func(resource.Update) { <-release }})); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string, 1)
	if _, err := c.Subscribe(clusters, "a", delivered(recorder{changed: func(u resource.Update) { got <- tag(u) }})); err != nil {
		t.Fatal(err)
	}
	receive(ctx, t, "a watcher behind blocked ones", got)
}

func TestSlowWatcherSeesTheNewest(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "0"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	values, goOn := make(chan string, 10), make(chan struct{})
	if _, err := c.Subscribe(clusters, "a", delivered(recorder{changed: func(u resource.Update) {
		values <- tag(u)
		<-goOn
	}})); err != nil {
		t.Fatal(err)
	}
	receive(ctx, t, "the first value", values)
	witness := follow(ctx, t, c, clusters, "a")
	for _, v := range []string{"1", "2", "3"} {
		set(t, s, "a", cluster("a", v))
		witness.value(v)
	}
	close(goOn)
	if got := receive(ctx, t, "the next value", values); got != "3" {
		t.Errorf("a slow watcher got %s, want the newest, 3", got)
	}
}

// A resource that arrives and is removed between two reads of a watcher causes no event.
func TestStateThatIsKnownIsNotYieldedAgain(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	sleepy, witness := follow(ctx, t, c, clusters, "a"), follow(ctx, t, c, clusters, "a")
	sleepy.value("1")
	witness.value("1")
	bad := cluster("a", "2")
	bad.LbPolicy = 5 // MAGLEV
	set(t, s, "a", bad)
	witness.ambient(resource.ErrInvalid)
	set(t, s, "a", cluster("a", "1")) // the bytes from before
	witness.value("1")
	follow(ctx, t, c, clusters, "a").value("1") // the loop is done with it
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if st, err := sleepy.o.Next(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next = %v, %v; nothing is new", st, err)
	}
}

func TestWatchEndsWithItsContextWhateverIsNew(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	steps := 0
	for ev := range clusters.Handle().Watch(ctx, c, "a") {
		steps++
		if ev.Err != nil || steps > 1 {
			t.Fatal("the watch continues after its context has ended")
		}
		set(t, s, "a", cluster("a", "2"))
		follow(testContext(t), t, c, clusters, "a").value("2")
		follow(testContext(t), t, c, clusters, "a").value("2") // the loop is done with it
		cancel()
	}
}

func TestNoCallbackAfterCancel(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	values := make(chan string, 10)
	cancel, err := c.Subscribe(clusters, "a", delivered(recorder{changed: func(u resource.Update) { values <- tag(u) }}))
	if err != nil {
		t.Fatal(err)
	}
	receive(ctx, t, "the first value", values)
	witness := follow(ctx, t, c, clusters, "a")
	cancel()
	cancel() // again is nothing
	set(t, s, "a", cluster("a", "2"))
	witness.value("2")
	select {
	case v := <-values:
		t.Errorf("Changed(%s) after cancel", v)
	default:
	}
}
