package environment

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// The metrics of the last known good store show its use, its age and its failures.
func TestStoreMetrics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lkg")
	synctest.Test(t, func(t *testing.T) {
		keep := func(s *Settings) { s.LastKnownGood = &lkg.Options{Dir: dir} }
		w := newMetricWorld(t, keep)
		w.set(w.primary, "a")
		s := acquire(t, w.env, "xds:///web")
		defer func() { _ = s.Release() }()
		w.watch(s, "a")
		w.expect(time.Minute, "xdsforge.",
			"last_known_good.age{authority=#old} 58",
			"last_known_good.failing{authority=#old} 0",
			"last_known_good.failing{authority=east} 0",
			"last_known_good.failing{authority=} 0",
			"xds_client.fallback{target=xds:///web,authority=#old} 0",
			"xds_client.last_known_good{target=xds:///web,authority=#old} 0",
		)
		for _, server := range []*memoryads.Server{w.primary, w.fallback} {
			server.Refuse(errors.New("refused"))
			server.Disconnect(errors.New("cut"))
		}
		other := acquire(t, w.env, "xds:///other")
		defer func() { _ = errors.Join(other.Release(), w.env.Close()) }()
		w.watch(other, "a")
		w.expect(0, "xdsforge.xds_client.last_known_good",
			"{target=xds:///other,authority=#old} 1",
			"{target=xds:///web,authority=#old} 0",
		)
	})
}

// An Env whose store cannot be opened is an error. One that opens again goes on without its store.
func TestEnvWithoutItsStore(t *testing.T) {
	s := settings(t, "n")
	s.LastKnownGood = &lkg.Options{Dir: filepath.Join(t.TempDir(), "lkg")}
	first, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := lkg.Open(*s.LastKnownGood, lkg.Node{ID: "another node"})
	if err != nil {
		t.Fatal(err)
	}
	w := store.Writer(lkg.Authority{OldStyle: true})
	w.Apply([]lkg.Change{{Op: lkg.Put, Resource: lkg.Resource{Type: "t", Name: "n"}}})
	w.Close()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if env, err := New(s); !errors.Is(err, lkg.ErrOtherNode) || len(Open()) != 0 {
		t.Errorf("New = %v, %v, and %d Envs are open; want ErrOtherNode", env, err, len(Open()))
	}
	first.Retain()
	defer first.Release()
	if first.store != nil {
		t.Error("the Env uses the store of another node")
	}
}
