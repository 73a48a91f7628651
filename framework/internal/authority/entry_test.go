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
	r.run("wait 100s", "watch endpoint *", "watch endpoint a", "response endpoint version=7 a=(1, ttl 1m)")
	r.run("wait 10s", "response endpoint version=8 a=(invalid, field: bad)")

	a := r.entry("a")
	if a.Type != endpoints || a.State != Nacked || string(a.Update.Raw()) != "1" || a.Version != "7" || a.Collection {
		t.Errorf("entry of a = %+v, want the update and the version in use", a)
	}
	if !a.Updated.Equal(time.Unix(100, 0)) || !a.Expires.Equal(time.Unix(160, 0)) {
		t.Errorf("entry of a = %+v, want updated at 100 s and expires at 160 s", a)
	}
	if a.RejectedVersion != "8" || !a.RejectedAt.Equal(time.Unix(110, 0)) || !errors.Is(a.Err, resource.ErrInvalid) {
		t.Errorf("entry of a = %+v, want the rejection", a)
	}
	if len(a.Watchers) != 1 || a.Watchers[0] != Watcher(r.watchers["endpoint a"]) {
		t.Errorf("watchers of a = %v, want one", a.Watchers)
	}
	all := r.entry("*")
	if !all.Collection || !all.Updated.IsZero() || len(all.Watchers) != 1 || all.Watchers[0] != Watcher(gatherer{r.watchers["endpoint *"]}) {
		t.Errorf("entry of the wildcard = %+v, want a collection without an update", all)
	}
	r.run("watch endpoint b")
	if b := r.entry("b"); b.State != Requested || b.Version != "" || b.RejectedVersion != "" || !b.Expires.IsZero() {
		t.Errorf("entry of b = %+v, want an empty one", b)
	}
}

// An iteration over the entries may end early. An entry lists all watchers.
func TestEntriesEndEarly(t *testing.T) {
	r := newRig(t)
	for _, by := range []string{"1", "2", "3"} {
		r.run("watch endpoint a by="+by, "watch cluster b by="+by)
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

// An error names the cause, the server and the node. A removed resource counts as not found, one that never existed
// does not count as removed.
func TestErrors(t *testing.T) {
	r := newRig(t)
	r.run("watch endpoint a", "response endpoint a=(invalid, field: bad)")
	text := r.watchers["endpoint a"].state.Err.Error()
	for _, want := range []string{"field: bad", "[server server, node node-1]"} {
		if !strings.Contains(text, want) {
			t.Errorf("error = %q, want %q in it", text, want)
		}
	}
	r.run("watch endpoint b", "response endpoint b=1", "response endpoint b=removed")
	if err := r.watchers["endpoint b"].state.Err; !errors.Is(err, resource.ErrRemoved) || !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("error = %v, want ErrRemoved and ErrNotFound", err)
	}
	r.run("watch endpoint c", "response endpoint c=removed")
	if err := r.watchers["endpoint c"].state.Err; errors.Is(err, resource.ErrRemoved) || !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound only", err)
	}
}

// The machine keeps only the beginning of the error of a member that nobody watches by name and that never was valid.
func TestErrorsOfMembersAreClipped(t *testing.T) {
	for _, c := range []struct {
		length int
		whole  bool
	}{{255, true}, {256, true}, {257, false}, {2000, false}} {
		r := newRig(t)
		text := strings.Repeat("x", c.length)
		out := r.run("watch endpoint *", "watch endpoint watched", "response endpoint member=(invalid, "+text+") watched=(invalid, "+text+")")
		want := text
		if !c.whole {
			want = text[:maxMemberError] + "…"
		}
		if !strings.Contains(out, "member member of *: invalid: "+want+"\n") {
			t.Errorf("text of %d bytes: the error of the member is not %q", c.length, want)
		}
		if !strings.Contains(out, "notify watched: invalid: "+text+"\n") {
			t.Errorf("text of %d bytes: the error of the watched resource is clipped", c.length)
		}
		r.run("cancel endpoint watched")
		if len(r.entry("watched").Err.Error()) > 2*maxMemberError {
			t.Errorf("text of %d bytes: the error is not clipped when nobody watches the name any more", c.length)
		}
	}
}

// The client asks before it decodes a resource whether somebody watches it.
func TestWants(t *testing.T) {
	const glob = "xdstp://e/test.Endpoint/g/"
	r := newRig(t)
	r.m.config.MaxMembers = 3
	wants := func(want Want, response uint64, s string, aliases ...string) {
		t.Helper()
		var names []xdstp.Name
		for _, a := range aliases {
			names = append(names, name(t, a))
		}
		if got := r.m.Wants(endpoints, &Result{Name: name(t, s), Aliases: names}, response); got != want {
			t.Errorf("Wants(%s, %v) in response %d = %d, want %d", s, aliases, response, got, want)
		}
	}
	wants(Unwanted, 1, "a")
	r.run("watch endpoint alias")
	wants(Wanted, 1, "alias")
	wants(Wanted, 1, "real", "unknown", "alias")
	wants(Unwanted, 1, "real", "unknown")
	r.run("response endpoint real=(1, alias alias)")
	wants(Wanted, 1, "real") // a response need not repeat the alias

	r.run("watch endpoint " + glob + "*")
	wants(Unwanted, 2, "xdstp://e/test.Endpoint/other/1")
	r.run("response endpoint " + glob + "1=1")
	for response := uint64(2); response < 4; response++ { // members of one response count together
		wants(Wanted, response, glob+"1")
		wants(Wanted, response, glob+"2")
		wants(Wanted, response, glob+"3")
		wants(Excessive, response, glob+"4")
	}
	out := r.run("response endpoint " + glob + "2=1 " + glob + "3=1 " + glob + "4=1")
	if strings.Count(out, "member ") != 2 {
		t.Errorf("effects = %q, want 2 more members: the limit is 3", out)
	}
	wants(Excessive, 4, glob+"4")
	r.run("response endpoint " + glob + "1=removed")
	wants(Wanted, 5, glob+"4")
	wants(Excessive, 5, glob+"5")
}

// The generation grows with each name that somebody starts to watch, and only then.
// A result has the record that Wants found. If the watch ended meanwhile, and another one began, the
// result is for the record of the new watch.
func TestRecordsOfResults(t *testing.T) {
	for _, again := range []bool{false, true} {
		r := newRig(t)
		r.run("watch endpoint a")
		res := Result{Name: name(t, "a"), Version: "1", Update: r.update(0, "a", "1")}
		if got := r.m.Wants(endpoints, &res, 1); got != Wanted || res.Record != r.handles["endpoint a"] {
			t.Fatalf("Wants found the record %v, want that of the watch", res.Record)
		}
		if again {
			r.run("cancel endpoint a", "watch endpoint a")
		}
		resp := Response{Type: endpoints, Results: []Result{res}, Version: "1"}
		r.handle(func() { r.m.Received(&resp, r.now) })
		if got := r.entry("a"); got.State != Acked || got.Update != res.Update || resp.Results[0].Record != r.handles["endpoint a"] {
			t.Errorf("with a new watch %t: the entry is %+v, with the update of the result: %t; want its update in use", again, got, got.Update == res.Update)
		}
	}
}

func TestGeneration(t *testing.T) {
	r := newRig(t)
	last := r.m.Generation(endpoints)
	for _, c := range []struct {
		line  string
		grows bool
	}{
		{"watch endpoint alias", true},
		{"watch endpoint alias by=another", false},
		{"watch cluster alias", false},
		{"response endpoint real=(1, alias alias)", true},
		{"watch endpoint *", true},
		{"response endpoint alias=1", false},
	} {
		r.run(c.line)
		if now := r.m.Generation(endpoints); now > last != c.grows {
			t.Errorf("%q: the generation went from %d to %d", c.line, last, now)
		}
		last = r.m.Generation(endpoints)
	}
}
