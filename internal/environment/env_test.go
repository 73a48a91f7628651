package environment

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func settings(t testing.TB, node string) Settings {
	t.Helper()
	c, err := bootstrap.Parse([]byte(`{"node": {"id": "` + node + `"}, "xds_servers": [{"server_uri": "memory", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	reg := registry.New()
	cluster.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return Settings{Config: c, Types: types, Transport: memoryads.Network{"memory": memoryads.NewServer(memoryads.Type{URL: cluster.Type().URL(), Complete: true})}}
}

func acquire(t testing.TB, e *Env, scope string) *Scope {
	t.Helper()
	s, err := e.Acquire(scope, e.Types())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// works reports whether a client is open.
func works(s *Scope) bool {
	stop, err := cluster.Subscribe(s, "c", func(cluster.Event) {})
	if err == nil {
		stop()
	}
	return err == nil
}

// TestScopes expects one client for each scope that is in use (A71).
func TestScopes(t *testing.T) {
	e := newEnv(t, settings(t, "n"))
	a, b, other := acquire(t, e, Servers), acquire(t, e, Servers), acquire(t, e, "xds:///web")
	if a.Client != b.Client || a.Client == other.Client {
		t.Error("there must be one client for each scope")
	}
	own, err := e.NewScope("")
	if err != nil {
		t.Fatal(err)
	}
	if further, err := e.NewScope(""); err != nil || further.Client == own.Client {
		t.Errorf("clients of the program share a cache: %v", err)
	} else {
		_ = further.Release()
	}
	named, err := e.NewScope("xds:///own")
	if err != nil {
		t.Fatal(err)
	}
	channels := acquire(t, e, "xds:///own")
	if named.Client == channels.Client || named.Name() != channels.Name() {
		t.Error("a channel shares the client to which the program gave the name of its target")
	}
	_, _ = named.Release(), channels.Release()
	_ = a.Release()
	if !works(b) {
		t.Error("the client was closed under its other user")
	}
	_ = b.Release()
	if works(b) {
		t.Error("the last release left the client open")
	}
	again := acquire(t, e, Servers)
	if !works(again) {
		t.Error("a closed client was handed out")
	}
	_ = e.Close()
	for _, s := range []*Scope{again, other, own} {
		if !works(s) {
			t.Error("Close of the Env closed a client")
		}
		_ = s.Release()
	}
	if n := len(Open()); n != 0 {
		t.Errorf("%d Envs are open in the end", n)
	}
}

// A closeCounter counts its Close calls.
type closeCounter struct{ closed int }

func (a *closeCounter) Close() error {
	a.closed++
	return nil
}

// TestAttachmentsEndWithTheEnv expects an attachment to live from the first use to the last
// reference. A later use creates another one.
func TestAttachmentsEndWithTheEnv(t *testing.T) {
	e := newEnv(t, settings(t, "n"))
	made := 0
	attach := func() *closeCounter {
		t.Helper()
		a, err := e.Attach("key", func() (io.Closer, error) { made++; return &closeCounter{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		return a.(*closeCounter)
	}
	failed := errors.New("failed")
	if _, err := e.Attach("key", func() (io.Closer, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("Attach: %v; want %v", err, failed)
	}
	first := attach()
	if attach() != first || made != 1 {
		t.Errorf("%d attachments; want 1", made)
	}
	other, err := e.Attach("another key", func() (io.Closer, error) { return &closeCounter{}, nil })
	if err != nil || other == io.Closer(first) {
		t.Errorf("another key has the attachment %v, %v; want one of its own", other, err)
	}
	e.Retain()
	_ = e.Close()
	_ = e.Close()
	if first.closed != 0 {
		t.Error("the attachment was closed under a reference")
	}
	e.Release()
	if first.closed != 1 {
		t.Errorf("the attachment was closed %d times; want once", first.closed)
	}
	e.Retain() // like an idle channel that connects again
	if attach() == first {
		t.Error("a closed attachment was handed out")
	}
	if err := e.Closed(); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("Closed: %v; want closed for the program", err)
	}
	e.Release()
	if n := len(Open()); n != 0 {
		t.Errorf("%d Envs are open in the end", n)
	}
}

// TestDefaults expects equal bootstraps to share one Env while it is in use.
func TestDefaults(t *testing.T) {
	made := 0
	open := func(node string) *Env {
		t.Helper()
		s := settings(t, node)
		e, err := Default(s.Config, func() (Settings, error) { made++; return s, nil })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	a, b, other := open("n"), open("n"), open("other")
	if a != b || a == other || made != 2 {
		t.Errorf("%d Envs were created; want one for each content", made)
	}
	if got := Open(); !slices.Equal(got, []*Env{a, other}) {
		t.Errorf("Open = %v; want both", got)
	}
	if err := a.Close(); err != nil || len(Open()) != 2 { // the program has no reference to release
		t.Errorf("Close of a default Env: %v, %d open", err, len(Open()))
	}
	a.Release()
	if again := open("n"); again != a {
		t.Error("an Env in use was created again")
	}
	a.Release()
	b.Release()
	renewed := open("n")
	if renewed == a {
		t.Error("a freed Env was found")
	}
	renewed.Release()
	other.Release()
	failed := errors.New("failed")
	if _, err := Default(settings(t, "n").Config, func() (Settings, error) { return Settings{}, failed }); !errors.Is(err, failed) || len(Open()) != 0 {
		t.Errorf("Default: %v, %d open; want %v and none", err, len(Open()), failed)
	}
}

// TestConcurrentUse expects the Env to be closed after many goroutines have released their
// references.
func TestConcurrentUse(t *testing.T) {
	s := settings(t, "n")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				e, err := Default(s.Config, func() (Settings, error) { return s, nil })
				if err != nil {
					t.Error(err)
					return
				}
				scope, err := e.Acquire([]string{"a", "b"}[i%2], e.Types())
				e.Release()
				if err != nil {
					t.Error(err)
					return
				}
				if !works(scope) {
					t.Error("a closed client was handed out")
				}
				_ = scope.Release()
			}
		})
	}
	wg.Wait()
	if n := len(Open()); n != 0 {
		t.Errorf("%d Envs are open in the end", n)
	}
}

// TestGoroutinesOfScopes expects a bounded number of goroutines for each scope, and none after
// Close.
func TestGoroutinesOfScopes(t *testing.T) {
	e := newEnv(t, settings(t, "n"))
	before := runtime.NumGoroutine()
	// The reader of the stream stays. Those of the event loop, of a request and of a callback end soon.
	const n, bound = 100, 4
	var scopes []*Scope
	for i := range n {
		s := acquire(t, e, string(rune('a'+i)))
		if _, err := s.Observe(resource.Describe(cluster.Type()), "c"); err != nil {
			t.Fatal(err)
		}
		scopes = append(scopes, s)
	}
	for _, s := range scopes {
		if _, err := s.Snapshot(t.Context()); err != nil { // the event loop has opened its stream
			t.Fatal(err)
		}
	}
	if got := runtime.NumGoroutine() - before; got > n*bound || got < n {
		t.Errorf("%d goroutines for %d scopes; want at most %d for each", got, n, bound)
	}
	for _, s := range scopes {
		_ = s.Release()
	}
	_ = e.Close()
}
