package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// A recorder is a Sink that holds what a session reported.
type recorder struct {
	changes []Change
	states  []State
	has     map[Key]string // bodies
	known   []Interest
	gate    chan struct{} // not nil: Apply waits for a token
	refuse  error
}

func (r *recorder) Apply(c Change) error {
	if r.gate != nil {
		<-r.gate
	}
	r.changes = append(r.changes, c)
	for _, p := range c.Put {
		r.has[p.Key] = string(p.Body)
	}
	for _, k := range c.Delete {
		delete(r.has, k)
	}
	r.known = append(r.known, c.Complete...)
	return r.refuse
}

func (r *recorder) State(s State) { r.states = append(r.states, s) }

func (r *recorder) names() (names []string) {
	for k := range r.has {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

// pass waits in the bubble's time.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func open(t *testing.T, m *Memory, names ...string) (*recorder, Session) {
	t.Helper()
	r := &recorder{has: make(map[Key]string)}
	return r, openInto(t, m, r, names...)
}

func openInto(t *testing.T, m *Memory, r *recorder, names ...string) Session {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s, err := m.Open(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	s.Want(interests(names...), nil)
	synctest.Wait()
	return s
}

func interests(names ...string) (list []Interest) {
	for _, n := range names {
		list = append(list, Interest{clusterURL, n})
	}
	return list
}

func res(name, body string, aliases ...string) Resource {
	return Resource{Key: Key{clusterURL, name}, Body: []byte(body), Aliases: aliases}
}

func commit(t *testing.T, m *Memory, tx *Tx) Revision {
	t.Helper()
	r, err := m.Commit(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return r
}

func wantNames(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	if got := r.names(); !slices.Equal(got, want) {
		t.Errorf("the session reported %q, want %q", got, want)
	}
}

const member = "xdstp://a/envoy.config.cluster.v3.Cluster/dir/"

func TestMemoryReportsTheWantedResources(t *testing.T) {
	for _, test := range []struct {
		interest string
		want     []string
	}{
		{"a", []string{"a"}},
		{"other-a", []string{"a"}},
		{"missing", nil},
		{Wildcard, []string{"a", "b"}},
		{member + "*", []string{member + "1", member + "2"}},
		{"xdstp://a/envoy.config.cluster.v3.Cluster/*", nil},
		{Everything, []string{"a", "b", member + "1", member + "2", member + "deep/3"}},
	} {
		t.Run(test.interest, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewMemory()
				tx := new(Tx).Put(res("a", "1", "other-a")).Put(res("b", "2")).Put(res(member+"1", "3"))
				before, _ := open(t, m, test.interest)
				commit(t, m, tx.Put(res(member+"2", "4")).Put(res(member+"deep/3", "5")))
				after, _ := open(t, m, test.interest)
				for name, r := range map[string]*recorder{"a session from before the commit": before, "a session from after it": after} {
					if got := r.names(); !slices.Equal(got, test.want) {
						t.Errorf("%s reported %q, want %q", name, got, test.want)
					}
					if !slices.Equal(r.known, interests(test.interest)) || len(r.states) != 1 || r.states[0].Kind != Live {
						t.Errorf("%s completed %v in states %v, want the interest, live", name, r.known, r.states)
					}
				}
			})
		})
	}
}

func TestMemoryReportsDifferencesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		commit(t, m, new(Tx).Put(res("a", "1")).Put(res("b", "1")).Put(res("c", "1")))
		r, s := open(t, m, "a", "b")
		r.changes = nil
		revision := commit(t, m, new(Tx).Put(res("a", "2")).Put(res("b", "1")).Put(res("c", "2")).Delete(Key{clusterURL, "missing"}))
		if len(r.changes) != 1 || len(r.changes[0].Put) != 1 || r.changes[0].Put[0].Name != "a" || len(r.changes[0].Delete) != 0 || r.changes[0].Revision != uint64(revision) {
			t.Errorf("changes = %v, want one with a at revision %d", r.changes, revision)
		}
		r.changes = nil
		commit(t, m, new(Tx).Put(res("b", "1")).Put(res("c", "3")))
		if len(r.changes) != 0 {
			t.Errorf("changes = %v, want none for equal content and unwanted resources", r.changes)
		}
		s.Want(nil, interests("a"))
		commit(t, m, new(Tx).Delete(Key{clusterURL, "a"}).Delete(Key{clusterURL, "b"}))
		if len(r.changes) != 1 || !slices.Equal(r.changes[0].Delete, []Key{{clusterURL, "b"}}) {
			t.Errorf("changes = %v, want the deletion of b alone", r.changes)
		}
	})
}

// A resource that leaves an alias uncovers another one with the same alias, which is reported again.
func TestMemoryReportsTheNextResourceOfAnAlias(t *testing.T) {
	for _, leave := range []func(tx *Tx){func(tx *Tx) { tx.Delete(res("a", "").Key) }, func(tx *Tx) { tx.Put(res("a", "2")) }} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			commit(t, m, new(Tx).Put(res("a", "1", "x")).Put(res("b", "1", "x")))
			r, _ := open(t, m, "x")
			tx := new(Tx)
			leave(tx)
			commit(t, m, tx)
			if last := r.changes[len(r.changes)-1]; !slices.ContainsFunc(last.Put, func(p Resource) bool { return p.Name == "b" }) {
				t.Errorf("the session reports %v, want b again", last.Put)
			}
		})
	}
}

// An interest that is dropped before it is reported is not complete.
func TestMemoryForgetsADroppedInterest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		r, s := open(t, m)
		m.SetState(State{})
		s.Want(interests("a", "b"), nil)
		s.Want(nil, interests("a"))
		m.SetState(State{Kind: Live})
		synctest.Wait()
		if len(r.known) != 1 || r.known[0].Name != "b" {
			t.Errorf("the session completed %v, want b", r.known)
		}
	})
}

// The end of a resource is not reported after its interest was dropped, unless it belongs to another one.
func TestMemoryForgetsTheResourcesOfADroppedInterest(t *testing.T) {
	for _, test := range []struct {
		keeps []string
		want  []string
	}{{nil, nil}, {[]string{"x"}, []string{"a"}}, {[]string{Wildcard}, []string{"a"}}, {[]string{Everything}, []string{"a"}}} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			commit(t, m, new(Tx).Put(res("a", "1", "x")))
			r, s := open(t, m, append(test.keeps, "a")...)
			m.SetState(State{})
			commit(t, m, new(Tx).Put(res("a", "2")))
			s.Want(nil, interests("a"))
			commit(t, m, new(Tx).Delete(res("a", "").Key))
			r.changes = nil
			m.SetState(State{Kind: Live})
			synctest.Wait()
			var gone []string
			for _, ch := range r.changes {
				for _, k := range ch.Delete {
					gone = append(gone, k.Name)
				}
			}
			if !slices.Equal(gone, test.want) {
				t.Errorf("a reader that keeps %q hears that %q are gone, want %q", test.keeps, gone, test.want)
			}
		})
	}
}

// A slow reader receives the newest state of several commits in one change.
func TestMemoryCombinesCommitsForASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		r := &recorder{has: make(map[Key]string), gate: make(chan struct{})}
		openInto(t, m, r, Wildcard)
		for i := range 1000 {
			commit(t, m, new(Tx).Put(res("a", fmt.Sprint("a", i))).Put(res("b", fmt.Sprint("b", i))))
		}
		r.gate <- struct{}{}
		r.gate <- struct{}{}
		synctest.Wait()
		want := map[Key]string{{clusterURL, "a"}: "a999", {clusterURL, "b"}: "b999"}
		if len(r.changes) != 2 || len(r.changes[1].Put) != 2 || !maps.Equal(r.has, want) {
			t.Errorf("%d changes to %v, want 2 to %v", len(r.changes), r.has, want)
		}
	})
}

func TestMemoryEndsASessionWhoseSinkRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		r := &recorder{has: make(map[Key]string), refuse: errors.New("closed")}
		openInto(t, m, r, "a")
		commit(t, m, new(Tx).Put(res("a", "1")))
		if len(r.changes) != 1 || len(m.sessions) != 0 {
			t.Errorf("%d changes and %d sessions after a refusal, want 1 and 0", len(r.changes), len(m.sessions))
		}
	})
}

func TestMemoryExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		a := res("a", "1")
		a.Expires = time.Now().Add(time.Minute)
		commit(t, m, new(Tx).Put(a).Put(res("b", "2")))
		pass(time.Minute)
		r, _ := open(t, m, Wildcard)
		wantNames(t, r, "b")
		if _, _, ok := m.Get(a.Key); ok {
			t.Error("Get returns an expired resource")
		}
		commit(t, m, new(Tx).If(a.Key, 0).Put(res("a", "1")))
		wantNames(t, r, "a", "b")
	})
}

func TestMemoryAliasesFollowTheirResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		commit(t, m, new(Tx).Put(res("a", "1", "x", "y")))
		r, _ := open(t, m, "x")
		commit(t, m, new(Tx).Put(res("a", "1", "y")))
		if got := r.changes[len(r.changes)-1]; len(got.Put) != 1 || !slices.Equal(got.Put[0].Aliases, []string{"y"}) {
			t.Errorf("the last change = %v, want the resource without the alias", got)
		}
		late, _ := open(t, m, "x")
		wantNames(t, late)
		late, _ = open(t, m, "y")
		wantNames(t, late, "a")
	})
}

// A resource that ends leaves the other members of its collection and the other resources of its alias in place.
func TestMemoryKeepsTheOtherResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		commit(t, m, new(Tx).Put(res(member+"1", "1", member+"x")).Put(res(member+"2", "2", member+"x")))
		commit(t, m, new(Tx).Delete(Key{clusterURL, member + "1"}))
		for _, interest := range []string{member + "*", member + "x"} {
			late, _ := open(t, m, interest)
			wantNames(t, late, member+"2")
		}
		commit(t, m, new(Tx).Delete(Key{clusterURL, member + "2"}))
		if k := m.types[clusterURL]; len(k.held)+len(k.collections)+len(k.aliases) != 0 {
			t.Errorf("the memory keeps %v, %v and %v of deleted resources", k.held, k.collections, k.aliases)
		}
	})
}

func TestConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		k := Key{clusterURL, "a"}
		if r := commit(t, m, new(Tx).If(k, 0).Put(res("a", "1"))); r != 1 {
			t.Fatalf("revision = %d, want 1", r)
		}
		commit(t, m, new(Tx).Put(res("b", "1")))
		for name, tx := range map[string]*Tx{
			"it exists":            new(Tx).If(k, 0),
			"another revision":     new(Tx).If(k, 2),
			"missing":              new(Tx).If(Key{clusterURL, "c"}, 1),
			"a later commit":       new(Tx).IfUnchanged(1),
			"one of two conflicts": new(Tx).If(k, 1).If(k, 7),
		} {
			if _, err := m.Commit(t.Context(), tx.Put(res("a", "9"))); !errors.Is(err, ErrConflict) {
				t.Errorf("%s: the error is %v, want a conflict", name, err)
			}
		}
		if r, revision, ok := m.Get(k); !ok || string(r.Body) != "1" || revision != 1 || m.Revision() != 2 {
			t.Errorf("a = %q of revision %d after conflicts at revision %d, want 1 of 1 at 2", r.Body, revision, m.Revision())
		}
		commit(t, m, new(Tx).If(k, 1).IfUnchanged(2).Put(res("a", "1"))) // equal content
		if _, revision, _ := m.Get(k); revision != 3 {
			t.Errorf("revision = %d after a put of equal content, want 3", revision)
		}
	})
}

// A transaction with an invalid operation changes nothing, and its error names every one.
func TestInvalidTransactions(t *testing.T) {
	m := NewMemory()
	bad := func(change func(*Resource)) Resource {
		r := res("a", "1")
		change(&r)
		return r
	}
	tx := new(Tx).Put(res("fine", "1")).
		Put(bad(func(r *Resource) { r.Name = "" })).
		Put(bad(func(r *Resource) { r.Name = Wildcard })).
		Put(bad(func(r *Resource) { r.Name = member + "*" })).
		Put(bad(func(r *Resource) { r.Name = "xdstp://a/envoy.config.cluster.v3.Cluster/a?b=1&a=2" })).
		Put(bad(func(r *Resource) { r.Name = "xdstp://a/other.Type/a" })).
		Put(bad(func(r *Resource) { r.Name = strings.Repeat("n", MaxName+1) })).
		Put(bad(func(r *Resource) { r.Type = "Cluster" })).
		Put(bad(func(r *Resource) { r.Body = make([]byte, MaxBody+1) })).
		Put(bad(func(r *Resource) { r.TTL = -1 })).
		Put(bad(func(r *Resource) { r.Aliases = []string{"\xff"} })).
		Put(bad(func(r *Resource) { r.Aliases = make([]string, MaxAliases+1) })).
		Delete(Key{clusterURL, ""}).
		If(Key{"", "a"}, 0)
	_, err := m.Commit(t.Context(), tx)
	if err == nil {
		t.Fatal("Commit accepts an invalid transaction")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 13 {
		t.Errorf("%d errors, want 13:\n%v", len(lines), err)
	}
	if _, _, ok := m.Get(Key{clusterURL, "fine"}); ok || m.Revision() != 0 {
		t.Error("the invalid transaction was committed in part")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	if _, err := m.Commit(ctx, new(Tx).Put(res("a", "1"))); err == nil || !strings.Contains(err.Error(), "no time") || m.Revision() != 0 {
		t.Errorf("Commit with an ended context: %v, revision %d", err, m.Revision())
	}
}

func TestVersions(t *testing.T) {
	a, b := res("a", "1"), res("b", "1")
	if Version(&a) != Version(&b) || len(Version(&a)) != 16 {
		t.Errorf("versions %q and %q of equal bodies; want the same 16 digits", Version(&a), Version(&b))
	}
	b.TTL = time.Second
	if Version(&a) == Version(&b) {
		t.Error("a TTL does not change the version")
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{{"x", "x", true}, {"1-" + Version(&a), "22-" + Version(&a), true}, {Version(&a), Version(&b), false}, {"2026-11-27", "2025-11-27", false}} {
		if SameVersion(test.a, test.b) != test.want {
			t.Errorf("SameVersion(%q, %q) = %t", test.a, test.b, !test.want)
		}
	}
}

func TestStateString(t *testing.T) {
	if got := (State{Kind: Down, Err: errors.New("gone")}).String(); got != "down: gone" {
		t.Errorf("String() = %q", got)
	}
	if got := fmt.Sprint(Live, Stale, StateKind(9)); got != "live stale StateKind(9)" {
		t.Errorf("kinds print as %q", got)
	}
}

// A Memory that another Source fills tells its state, and nothing before it has one.
func TestMemoryTellsItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		m.SetState(State{})
		commit(t, m, new(Tx).Put(res("a", "1")))
		r, s := open(t, m, "a")
		if len(r.states)+len(r.changes) != 0 {
			t.Errorf("states %v, changes %v before the first state", r.states, r.changes)
		}
		down := State{Kind: Down, Err: errors.New("unmounted")}
		m.SetState(down)
		synctest.Wait()
		m.SetState(State{Kind: Live})
		m.SetState(State{Kind: Live})
		synctest.Wait()
		if want := []State{down, {Kind: Live}}; !slices.Equal(r.states, want) {
			t.Errorf("states = %v, want %v", r.states, want)
		}
		wantNames(t, r, "a")
		var got []Rejection
		m.OnReport(func(r Rejection) { got = append(got, r) })
		s.Report(Rejection{Type: clusterURL, Text: "bad"})
		if len(got) != 1 || got[0].Text != "bad" {
			t.Errorf("rejections = %v, want one", got)
		}
	})
}

// A Memory that is filled from a store has its epoch and revision. Another epoch reports everything again.
func TestCommitAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		r, _ := open(t, m, "a", "b")
		at := func(epoch string, revision Revision, tx *Tx) {
			t.Helper()
			if err := m.CommitAt(t.Context(), tx, epoch, revision); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		last := func() Change { return r.changes[len(r.changes)-1] }
		at("one", 7, new(Tx).Put(res("a", "1")).Put(res("b", "1")))
		if c := last(); c.Epoch != "one" || c.Revision != 7 || len(c.Put) != 2 {
			t.Errorf("change = %+v, want revision 7 of epoch one with both resources", c)
		}
		at("one", 9, new(Tx).Put(res("a", "2")))
		if c := last(); c.Revision != 9 || len(c.Put) != 1 {
			t.Errorf("change = %+v, want revision 9 with one resource", c)
		}
		at("one", 5, new(Tx).Put(res("a", "3")))
		if c := last(); c.Revision != 9 {
			t.Errorf("revision = %d after a lower one, want 9", c.Revision)
		}
		at("two", 3, new(Tx).Delete(Key{clusterURL, "b"}))
		if c := last(); c.Epoch != "two" || c.Revision != 3 || len(c.Put) != 1 || len(c.Delete) != 1 || len(c.Complete) != 2 {
			t.Errorf("change = %+v, want everything again at revision 3 of epoch two", c)
		}
		if err := m.CommitAt(t.Context(), new(Tx).Put(Resource{}), "two", 4); err == nil {
			t.Error("a resource without a name is accepted")
		}
	})
}

// A Memory that is Down before it was filled does not know which resources exist. One that was in use reports the
// resources that it has.
func TestDownBeforeTheFirstUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		m.SetState(State{})
		r, _ := open(t, m, "a", "b")
		m.SetState(State{Kind: Down, Err: errors.New("no route")})
		late, _ := open(t, m, "a")
		synctest.Wait()
		if len(r.changes) > 0 || len(late.changes) > 0 || len(late.states) != 1 {
			t.Errorf("sessions of a memory that was not filled report %v and %v, want only that it is down", r.changes, late.changes)
		}
		commit(t, m, new(Tx).Put(res("a", "1")))
		m.SetState(State{Kind: Live})
		synctest.Wait()
		if fmt.Sprint(r.names()) != "[a]" || len(r.known) != 2 || fmt.Sprint(late.names()) != "[a]" {
			t.Errorf("sessions have %v and %v once the memory is live, want a", r.names(), late.names())
		}
		m.SetState(State{Kind: Down, Err: errors.New("no route")})
		last, _ := open(t, m, "a", "b")
		if fmt.Sprint(last.names()) != "[a]" || len(last.known) != 2 {
			t.Errorf("a session of a memory that was in use has %v, want a", last.names())
		}
	})
}
