package authority

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func (r *rig) entry(s string) Entry {
	r.t.Helper()
	for e := range r.m.Entries() {
		if e.Name.String() == s {
			return e
		}
	}
	r.t.Fatalf("no entry of %s", s)
	return Entry{}
}

func TestEntries(t *testing.T) {
	r := newRig(t)
	r.now = time.Unix(100, 0)
	g, w := r.gather(partial, "*"), r.watch(partial, "a")
	u := r.update("a", "1")
	valid := ok(u)
	valid.Version, valid.TTL = "7", time.Minute
	r.delta(valid)
	r.now = time.Unix(110, 0)
	rejected := r.bad("a", "field: bad")
	rejected.Version = "8"
	r.delta(rejected)

	a := r.entry("a")
	if a.Type != partial || a.State != Nacked || a.Update != u || a.Version != "7" || a.Collection {
		t.Errorf("entry of a = %+v, want the update and the version in use", a)
	}
	if !a.Updated.Equal(time.Unix(100, 0)) || !a.Expires.Equal(time.Unix(160, 0)) {
		t.Errorf("entry of a = %+v, want updated at 100 s and expires at 160 s", a)
	}
	if a.RejectedVersion != "8" || !a.RejectedAt.Equal(time.Unix(110, 0)) || !errors.Is(a.Err, resource.ErrInvalid) {
		t.Errorf("entry of a = %+v, want the rejection", a)
	}
	if len(a.Watchers) != 1 || a.Watchers[0] != Watcher(w) {
		t.Errorf("watchers of a = %v, want one", a.Watchers)
	}
	all := r.entry("*")
	if !all.Collection || !all.Updated.IsZero() || len(all.Watchers) != 1 || all.Watchers[0] != Watcher(g) {
		t.Errorf("entry of the wildcard = %+v, want a collection without an update", all)
	}
	r.watch(partial, "b")
	if b := r.entry("b"); b.State != Requested || b.Version != "" || b.RejectedVersion != "" || !b.Expires.IsZero() {
		t.Errorf("entry of b = %+v, want an empty one", b)
	}
}

// An iteration over the entries may end early, and several watchers are all listed.
func TestEntriesEndEarly(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.watch(partial, "a")
		r.watch(complete, "b")
	}
	n := 0
	for e := range r.m.Entries() {
		n++
		if len(e.Watchers) != 3 {
			t.Errorf("%d watchers, want 3", len(e.Watchers))
		}
		break
	}
	if n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestStatesAreSpelledAsInGRFCA88(t *testing.T) {
	for s, want := range map[State]string{
		Requested: "REQUESTED", Acked: "ACKED", Nacked: "NACKED",
		DoesNotExist: "DOES_NOT_EXIST", Timeout: "TIMEOUT", ReceivedError: "RECEIVED_ERROR",
	} {
		if s.String() != want {
			t.Errorf("state = %q, want %q", s.String(), want)
		}
	}
}

// The machine keeps only the beginning of the error of a member that never was valid.
func TestErrorsOfMembersAreClipped(t *testing.T) {
	for _, c := range []struct {
		length int
		whole  bool
	}{{255, true}, {256, true}, {257, false}, {2000, false}} {
		r := newRig(t)
		g := r.gather(partial, "*")
		w := r.watch(partial, "watched")
		text := strings.Repeat("x", c.length)
		r.delta(r.bad("member", text), r.bad("watched", text))
		got := g.members["member"].Err.Error()
		want := text
		if !c.whole {
			want = text[:maxMemberError] + "…"
		}
		if !strings.Contains(got, want) || strings.Contains(got, "…") == c.whole {
			t.Errorf("error with a text of %d bytes = %q", c.length, got)
		}
		if !strings.Contains(w.state.Err.Error(), text) {
			t.Error("the error of a watched resource is clipped")
		}
	}
}

// The client asks, before it decodes a resource, whether anybody wants it.
func TestWants(t *testing.T) {
	const glob = "xdstp://e/test.Partial/g/"
	r := newRig(t)
	r.m.config.MaxMembers = 3
	wants := func(want Want, response uint64, s string, aliases ...string) {
		t.Helper()
		var names []xdstp.Name
		for _, a := range aliases {
			names = append(names, name(t, a))
		}
		if got := r.m.Wants(partial, name(t, s), names, response); got != want {
			t.Errorf("Wants(%s, %v) in response %d = %d, want %d", s, aliases, response, got, want)
		}
	}
	wants(Unwanted, 1, "a")
	r.watch(partial, "alias")
	wants(Wanted, 1, "alias")
	wants(Wanted, 1, "real", "unknown", "alias")
	wants(Unwanted, 1, "real", "unknown")
	aliased := ok(r.update("real", "1"))
	aliased.Aliases = []xdstp.Name{name(t, "alias")}
	r.delta(aliased)
	wants(Wanted, 1, "real") // a response need not repeat the alias

	g := r.gather(partial, glob+"*")
	wants(Unwanted, 2, "xdstp://e/test.Partial/other/1")
	r.delta(ok(r.update(glob+"1", "1")))
	for response := uint64(2); response < 4; response++ { // members of one response count together
		wants(Wanted, response, glob+"1")
		wants(Wanted, response, glob+"2")
		wants(Wanted, response, glob+"3")
		wants(Excessive, response, glob+"4")
	}
	r.delta(ok(r.update(glob+"2", "1")), ok(r.update(glob+"3", "1")), ok(r.update(glob+"4", "1")))
	if len(g.members) != 3 {
		t.Errorf("%d members, want 3", len(g.members))
	}
	wants(Excessive, 4, glob+"4")
	r.delta(r.removed(glob + "1"))
	wants(Wanted, 5, glob+"4")
	wants(Excessive, 5, glob+"5")
}

// The generation grows with each name that becomes wanted, and only then.
func TestGeneration(t *testing.T) {
	r := newRig(t)
	last := r.m.Generation(partial)
	grows := func(want bool, why string) {
		t.Helper()
		if now := r.m.Generation(partial); now > last != want {
			t.Errorf("%s: the generation went from %d to %d", why, last, now)
		}
		last = r.m.Generation(partial)
	}
	r.watch(partial, "alias")
	grows(true, "the first watch")
	r.watch(partial, "alias")
	grows(false, "another watch")
	r.watch(complete, "alias")
	grows(false, "a watch of another type")
	res := ok(r.update("real", "1"))
	res.Aliases = []xdstp.Name{name(t, "alias")}
	r.delta(res)
	grows(true, "an alias")
	r.gather(partial, "*")
	grows(true, "a collection")
	r.delta(ok(r.update("alias", "1")))
	grows(false, "an update of a watched name")
}

// A wildcard gathers the old-style names that are known already, and no others.
func TestWildcardGathersWhatIsKnown(t *testing.T) {
	const member = "xdstp://e/test.Partial/x"
	r := newRig(t)
	r.watch(partial, "a")
	r.watch(partial, "unknown")
	r.watch(partial, member)
	u := r.update("a", "1")
	r.delta(ok(u), ok(r.update(member, "1")))
	g := r.gather(partial, "*")
	g.wantsMember(t, "a", u, nil)
	if len(g.members) != 1 {
		t.Errorf("members = %v, want a alone", g.members)
	}
}

func TestCancelByPlace(t *testing.T) {
	r := newRig(t)
	w := new(watcher)
	var place Handle
	r.expect("0+a", evWatch{Type: partial, Name: name(t, "a"), Watcher: w, Record: &place})
	r.expect("", evCancel{Watcher: new(watcher), Record: place}) // another watcher
	r.expect("0-a", evCancel{Watcher: w, Record: place})
	r.expect("", evCancel{Watcher: w, Record: place})
}

// Names that nobody watches any longer may still leave on a stream.
func TestAskedOfNamesThatAreNotWatched(t *testing.T) {
	r := newRig(t)
	g := r.gather(partial, "*")
	r.delta(ok(r.update("member", "1")))
	r.do(evAsked{0, partial, []string{"stranger", "member"}})
	r.due(0)
	r.do(evAsked{0, partial, []string{"stranger", "*"}})
	r.due(ResourceTimeout)
	r.delta()
	g.wants(t, 1, nil, nil) // it is there, and empty
}
