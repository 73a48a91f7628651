package source

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// A session that is idle reports an interest that is added, whether it has one resource, several or none.
func TestWantWakesAnIdleSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		commit(t, m, new(Tx).Put(res("a", "1")).Put(res(member+"1", "2")).Put(res(member+"2", "3")))
		r, s := open(t, m)
		for _, name := range []string{"a", member + "*", "missing"} {
			s.Want(interests(name), nil)
			synctest.Wait()
			if n := len(r.known); n == 0 || r.known[n-1].Name != name {
				t.Errorf("the session completed %v after Want of %q", r.known, name)
			}
		}
		wantNames(t, r, "a", member+"1", member+"2")
	})
}

// A resource that changes while its interest is added is one step.
func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		commit(t, m, new(Tx).Put(res("a", "1")))
		r := &recorder{has: make(map[Key]string), gate: make(chan struct{})}
		s := openInto(t, m, r, "a").(*memorySession)
		if !s.Settled(1) || s.Settled(0) {
			t.Error("with one change in the sink, the session must be settled after 1 change, and not after 0")
		}
		s.Want(interests("missing"), nil)
		if s.Settled(1) {
			t.Error("the session is settled although an interest is not complete")
		}
		s.Want(nil, interests("missing"))
		commit(t, m, new(Tx).Put(res("a", "2")))
		if s.Settled(1) {
			t.Error("the session is settled although a resource and an interest are not reported")
		}
		close(r.gate)
		synctest.Wait()
		if !s.Settled(2) || s.Settled(1) {
			t.Error("with two changes in the sink, the session must be settled after 2 changes, and not after 1")
		}
	})
}

// A change has the resources in the order of their types, then of their names.
func TestOrderOfAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		tx := new(Tx)
		for _, k := range []Key{{"t/b", "1"}, {"t/a", "3"}, {"t/b", "0"}, {"t/a", "2"}} {
			tx.Put(Resource{Key: k, Body: []byte("1")})
		}
		commit(t, m, tx)
		r, s := open(t, m)
		s.Want([]Interest{{}}, nil)
		synctest.Wait()
		var keys []Key
		for _, p := range r.changes[0].Put {
			keys = append(keys, p.Key)
		}
		if want := []Key{{"t/a", "2"}, {"t/a", "3"}, {"t/b", "0"}, {"t/b", "1"}}; !slices.Equal(keys, want) {
			t.Errorf("the change has %v, want %v", keys, want)
		}
	})
}

// Sessions receive a state whose reason or time is new. They do not receive an equal one again.
func TestStatesThatAreNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, begin := NewMemory(), time.Now()
		r, s := open(t, m, "a")
		states := []State{
			{Kind: Stale, Since: begin},
			{Kind: Stale, Since: begin},
			{Kind: Stale, Since: begin.Add(-time.Second)},
			{Kind: Stale, Since: begin.Add(-time.Second), Err: errors.New("unmounted")},
			{Kind: Live},
		}
		for _, state := range states {
			m.SetState(state)
			synctest.Wait()
		}
		if want := append([]State{{Kind: Live}, states[0]}, states[2:]...); !slices.Equal(r.states, want) {
			t.Errorf("states = %v, want %v", r.states, want)
		}
		m.SetState(State{})
		commit(t, m, new(Tx).Put(res("a", "1")))
		if n := len(r.states); n != 5 || len(r.has) != 0 {
			t.Errorf("%d states and resources %v without a state, want 5 and none", n, r.has)
		}
		s.Report(Rejection{}) // no function of OnReport
	})
}

// The version identifies everything that a client receives.
func TestVersionHasAllParts(t *testing.T) {
	versions := make(map[string]string)
	for name, r := range map[string]Resource{
		"a body":          {Body: []byte("1")},
		"another body":    {Body: []byte("2")},
		"an alias":        {Body: []byte("1"), Aliases: []string{"x"}},
		"another alias":   {Body: []byte("1"), Aliases: []string{"y"}},
		"a TTL":           {Body: []byte("1"), TTL: time.Second},
		"another TTL":     {Body: []byte("1"), TTL: time.Minute},
		"an error":        {Err: &rpcstatus.Status{Code: 5, Message: "gone"}},
		"another code":    {Err: &rpcstatus.Status{Code: 7, Message: "gone"}},
		"another message": {Err: &rpcstatus.Status{Code: 5, Message: "lost"}},
		"nothing":         {},
	} {
		v := Version(&r)
		if other, ok := versions[v]; ok {
			t.Errorf("the versions of %s and %s are equal", name, other)
		}
		versions[v] = name
	}
	body := res("a", "1")
	if got, want := Version(&body), "6b86b273ff34fce1"; got != want { // SHA-256 of "1"
		t.Errorf("Version() = %q, want %q", got, want)
	}
}
