package adsserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
)

// A scripted is a source whose changes the test passes to the sink of its only session.
type scripted struct {
	sink  source.Sink
	wants []string
}

func (s *scripted) Open(_ context.Context, sink source.Sink) (source.Session, error) {
	s.sink = sink
	return s, nil
}

func (s *scripted) Want(add, drop []source.Interest) {
	s.wants = append(s.wants, fmt.Sprintf("add %v, drop %v", add, drop))
}

func (*scripted) Report(source.Rejection) {}

// apply applies a change of one epoch.
func (s *scripted) apply(t *testing.T, change source.Change) {
	t.Helper()
	change.Epoch = "epoch"
	if err := s.sink.Apply(change); err != nil {
		t.Fatal(err)
	}
}

// A source learns which interests begin, which end, and which end and begin again.
func TestInterestsOfASource(t *testing.T) {
	var s scripted
	c, err := New(Config{Source: &s})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n := newNaive(t, c, true)
	n.change(clusterURL, []string{"a"}, nil)
	c.feed.want(c.types[clusterURL], "a", drop)
	c.feed.want(c.types[clusterURL], "a", add)
	c.flush()
	n.change(clusterURL, nil, []string{"a"})
	a := fmt.Sprint([]source.Interest{{Type: clusterURL, Name: "a"}})
	if want := []string{"add " + a + ", drop []", "add " + a + ", drop " + a, "add [], drop " + a}; !slices.Equal(s.wants, want) {
		t.Errorf("the source is asked to %q, want %q", s.wants, want)
	}
}

// After the last subscription to a name has ended, the source must report the name again before a stream hears that it
// does not exist, even if a collection still has the entry.
func TestNameWithoutSubscription(t *testing.T) {
	for way, end := range map[string]func(n *naive){
		"ends":         func(n *naive) { n.stream.Close(context.Canceled) },
		"unsubscribes": func(n *naive) { n.change(clusterURL, nil, []string{"a"}) },
	} {
		var s scripted
		c, err := New(Config{Source: &s})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		apply := func(revision uint64, change source.Change) {
			t.Helper()
			change.Epoch, change.Revision = "epoch", revision
			for i := range change.Put {
				change.Put[i].Version = source.Version(&change.Put[i])
			}
			if err := s.sink.Apply(change); err != nil {
				t.Fatal(err)
			}
		}
		all, byName, n := newNaive(t, c, true), newNaive(t, c, true), newNaive(t, c, true)
		all.change(clusterURL, []string{source.Wildcard}, nil)
		byName.change(clusterURL, []string{"a"}, nil)
		a := source.Interest{Type: clusterURL, Name: "a"}
		apply(1, source.Change{
			Put:      []source.Resource{put(clusterURL, "a", "1")},
			Complete: []source.Interest{a, {Type: clusterURL, Name: source.Wildcard}},
		})
		all.read()
		end(byName)
		apply(2, source.Change{Delete: []source.Key{key(clusterURL, "a")}}) // the entry stays until all reads the removal
		n.change(clusterURL, []string{"a"}, nil)
		if got := n.read(); len(got) > 0 {
			t.Errorf("after a stream %s, the server answers %q before the source reports the name", way, got)
		}
		apply(3, source.Change{Complete: []source.Interest{a}})
		n.read()
		if !n.of(clusterURL).gone["a"] {
			t.Errorf("after a stream %s, the client does not hear that the name does not exist", way)
		}
	}
}

// With another epoch of a source, its resources are those of the first change. Other sources keep theirs.
func TestAnotherEpoch(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var s scripted
			other := source.NewMemory()
			c, err := New(Config{Source: &s, Authorities: map[string]source.Source{"stale": other}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			commit(t, other, new(source.Tx).Put(put(clusterURL, staleName, "1")))
			n := newNaive(t, c, delta)
			n.change(clusterURL, []string{"a", "b", staleName}, nil)
			synctest.Wait()
			both := []source.Interest{{Type: clusterURL, Name: "a"}, {Type: clusterURL, Name: "b"}}
			apply := func(epoch string, want map[string]string, puts ...source.Resource) {
				t.Helper()
				for i := range puts {
					puts[i].Version = source.Version(&puts[i])
				}
				if err := s.sink.Apply(source.Change{Epoch: epoch, Revision: 1, Put: puts, Complete: both}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				n.read()
				want[staleName] = staleName + "=1"
				if got := n.of(clusterURL).has; !maps.Equal(got, want) {
					t.Errorf("delta = %t: the client has %q in epoch %s, want %q", delta, got, epoch, want)
				}
			}
			apply("1", map[string]string{"a": "a=1", "b": "b=1"}, put(clusterURL, "a", "1"), put(clusterURL, "b", "1"))
			apply("1", map[string]string{"a": "a=2", "b": "b=1"}, put(clusterURL, "a", "2"))
			apply("2", map[string]string{"b": "b=2"}, put(clusterURL, "b", "2"))
		})
	}
}

// The version of the state of the world has the epoch and the revision of the only source. With several sources it has
// the sum of their revisions.
func TestVersionOfTheStateOfTheWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, authorities := range []map[string]source.Source{nil, {"stale": source.NewMemory()}} {
			m, c := newCore(t, Config{Authorities: authorities})
			n := newNaive(t, c, false)
			n.change(clusterURL, []string{"a", staleName}, nil)
			commit(t, m, new(source.Tx).Put(put(clusterURL, "x", "1")))
			if err := m.CommitAt(t.Context(), new(source.Tx).Put(put(clusterURL, "a", "1")), "epoch", 40); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			want := "epoch-14" // 40 in base 36
			if s, ok := authorities["stale"].(*source.Memory); ok {
				commit(t, s, new(source.Tx).Put(put(clusterURL, staleName, "1")))
				want = "all-15"
			}
			n.read()
			if got := n.of(clusterURL).whole; got != want {
				t.Errorf("with %d further sources, the version is %q, want %q", len(authorities), got, want)
			}
		}
	})
}

// A main source that is down ends all streams if the configuration says so. One of another authority ends none.
func TestEndOnDown(t *testing.T) {
	for _, end := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			other := source.NewMemory()
			m, c := newCore(t, Config{EndOnDown: end, Authorities: map[string]source.Source{"stale": other}})
			n := newNaive(t, c, true)
			n.change(clusterURL, []string{"a"}, nil)
			synctest.Wait()
			n.read()
			other.SetState(source.State{Kind: source.Down, Err: errors.New("lost")})
			m.SetState(source.State{Kind: source.Stale, Err: errors.New("late")})
			synctest.Wait()
			pass(time.Hour) // without MaxStaleness, a source may be stale for ever
			if open := c.OpenStreams(); open != 1 {
				t.Errorf("EndOnDown = %t: %d streams are open beside another source that is down, want 1", end, open)
			}
			m.SetState(source.State{Kind: source.Down, Err: errors.New("unmounted")})
			synctest.Wait()
			ended, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("nothing to read"))
			want := "nothing to read"
			if end {
				want = "unmounted"
			}
			if _, err := n.stream.Next(ended); err == nil || err.Error() != want {
				t.Errorf("EndOnDown = %t: the stream returns %v, want %q", end, err, want)
			}
			if _, err := c.Open(true); (err != nil) != end {
				t.Errorf("EndOnDown = %t: Open returns %v while the source is down", end, err)
			}
			m.SetState(source.State{Kind: source.Stale})
			synctest.Wait()
			if _, err := c.Open(true); err != nil {
				t.Errorf("EndOnDown = %t: Open returns %v while the source is stale", end, err)
			}
		})
	}
}

// Tests of clients refuse streams, cut them, and hold responses back.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		refused := errors.New("refused")
		c.Refuse(refused)
		if _, err := c.Open(true); !errors.Is(err, refused) {
			t.Errorf("Open = %v while streams are refused", err)
		}
		c.Refuse(nil)
		n := newNaive(t, c, true)
		c.Hold(true)
		n.change(clusterURL, []string{"a"}, nil)
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		if got := n.read(); len(got) != 0 {
			t.Errorf("the stream sends %q while responses are held", got)
		}
		c.Hold(false)
		n.read()
		if got := n.of(clusterURL).has["a"]; got != "a=1" {
			t.Errorf("the client has %q after Hold, want a", got)
		}
		cut := errors.New("cut")
		c.Cut(cut)
		if _, err := n.stream.Next(t.Context()); !errors.Is(err, cut) || c.OpenStreams() != 0 {
			t.Errorf("the stream returns %v after a cut, and %d are open", err, c.OpenStreams())
		}
	})
}

// A stream lags from the first change on that its client has not accepted.
func TestLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		late, later, current := newNaive(t, c, true), newNaive(t, c, true), newNaive(t, c, true)
		for _, n := range []*naive{late, later, current} {
			n.change(clusterURL, []string{"a", "b"}, nil)
		}
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "b", "1")))
		for _, n := range []*naive{late, later, current} {
			n.read()
		}
		if got, want := c.Lags(), map[string]Lag{clusterURL: {}}; !maps.Equal(got, want) {
			t.Errorf("lags = %v when all clients are current, want %v", got, want)
		}
		begin := time.Now()
		for _, value := range []string{"2", "3"} {
			pass(time.Second)
			commit(t, m, new(source.Tx).Put(put(clusterURL, "a", value)))
			current.read()
			if value == "2" {
				later.read()
			}
		}
		if got, want := c.Lags()[clusterURL], (Lag{Streams: 2, Since: begin.Add(time.Second)}); got.Streams != 2 || !got.Since.Equal(want.Since) {
			t.Errorf("lag = %v, want %v", got, want)
		}
		late.read()
		if got, want := c.Lags()[clusterURL], (Lag{Streams: 1, Since: begin.Add(2 * time.Second)}); got.Streams != 1 || !got.Since.Equal(want.Since) {
			t.Errorf("lag = %v after one client has read, want %v", got, want)
		}
	})
}

// Clients cannot make the server count more types than the bound.
func TestCountsAreBounded(t *testing.T) {
	_, c := newCore(t, Config{})
	for i := range maxCounts + 2 {
		c.countsOf(fmt.Sprint("t/", i)).Requests++
	}
	all := c.Counts()
	if n := len(all); n != maxCounts+1 || all[""].Requests != 2 || all[fmt.Sprint("t/", maxCounts-1)].Requests != 1 {
		t.Errorf("%d types are counted, and %d requests of others; want %d and 2", n, all[""].Requests, maxCounts+1)
	}
}

// A set serves its types and their list collections, by type URLs.
func TestTypesOf(t *testing.T) {
	plain := &resource.Descriptor{Name: "test.Plain", Complete: true, PeekName: func([]byte) (string, error) { return "", nil }}
	wrapped := &resource.Descriptor{Name: "test.Wrapped", Collection: "test.List"}
	for _, d := range []*resource.Descriptor{plain, wrapped} {
		d.NewShard = func() resource.Shard { return nil }
		d.Decode = func(*resource.DecodeContext, []byte) (resource.Update, error) { return nil, errors.New("unused") }
	}
	set, err := resource.NewSet(plain, wrapped)
	if err != nil {
		t.Fatal(err)
	}
	find := TypesOf(set)
	for url, want := range map[string]struct{ ok, complete, wrapped, peeks bool }{
		"host/test.Plain":   {ok: true, complete: true, peeks: true},
		"host/test.Wrapped": {ok: true, wrapped: true},
		"host/test.List":    {ok: true, wrapped: true},
		"host/test.Other":   {},
		"test.Plain":        {complete: true, peeks: true},
	} {
		if y, ok := find(url); ok != want.ok || y.Complete != want.complete || y.Wrapped != want.wrapped || (y.PeekName != nil) != want.peeks {
			t.Errorf("%s: ok = %t, type = %+v, want %+v", url, ok, y, want)
		}
	}
}

// A source does not answer for a name of another source by an alias, and a client with permission for one authority
// gets nothing of another.
func TestAliasOfAnotherAuthority(t *testing.T) {
	const other, glob = "xdstp://other/envoy.config.cluster.v3.Cluster/x", "xdstp://other/envoy.config.cluster.v3.Cluster/*"
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var s scripted
			c, err := New(Config{Source: source.NewMemory(), Authorities: map[string]source.Source{"other": &s}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			all, victim := newNaive(t, c, delta), newNaive(t, c, delta)
			all.change(clusterURL, []string{"victim", other, glob}, nil)
			victim.change(clusterURL, []string{"victim"}, nil)
			x := put(clusterURL, other, "1")
			x.Aliases = []string{"victim", "xdstp://other/envoy.config.cluster.v3.Cluster/y"}
			of := func(name string) source.Interest { return source.Interest{Type: clusterURL, Name: name} }
			if err := s.sink.Apply(source.Change{Epoch: "1", Revision: 1, Put: []source.Resource{x}, Complete: []source.Interest{of(other), of(glob)}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			all.read()
			victim.read()
			if got := victim.of(clusterURL).has; len(got) > 0 {
				t.Errorf("delta = %t: the client of the name victim has %q", delta, got)
			}
			y := all.of(clusterURL)
			if y.has[other] != other+"=1" || delta && (!y.gone["victim"] || len(y.aliases[other]) != 1) {
				t.Errorf("delta = %t: the client of both has %q with the aliases %q, and was told that %v are gone", delta, y.has, y.aliases, y.gone)
			}
		})
	}
}
