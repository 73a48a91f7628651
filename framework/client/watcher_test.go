package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A recorder passes what it is told on.
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
	cancel, err := c.Subscribe(clusters, "a", recorder{
		changed: func(u resource.Update) { changed <- tag(u) },
		ambient: func(err error) { ambient <- err },
	})
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
	cancelOuter, err := c.Subscribe(clusters, "outer", recorder{changed: func(resource.Update) {
		(<-cancels)() // itself
		cancelInner, err := c.Subscribe(clusters, "inner", recorder{changed: func(u resource.Update) {
			(<-cancels)()
			done <- tag(u)
		}})
		if err != nil {
			t.Error(err)
		}
		cancels <- cancelInner
	}})
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
		if _, err := c.Subscribe(clusters, n, recorder{changed: func(resource.Update) {
			blocked <- struct{}{}
			<-release
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		receive(ctx, t, "a watcher to block", blocked)
	}
	got := make(chan string, 10)
	if _, err := c.Subscribe(clusters, "d", recorder{changed: func(u resource.Update) { got <- tag(u) }}); err != nil {
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

func TestSlowWatcherSeesTheNewest(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "0"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	values, goOn := make(chan string, 10), make(chan struct{})
	if _, err := c.Subscribe(clusters, "a", recorder{changed: func(u resource.Update) {
		values <- tag(u)
		<-goOn
	}}); err != nil {
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

func TestNoCallbackAfterCancel(t *testing.T) {
	s := startServer(t)
	set(t, s, "a", cluster("a", "1"))
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	values := make(chan string, 10)
	cancel, err := c.Subscribe(clusters, "a", recorder{changed: func(u resource.Update) { values <- tag(u) }})
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
