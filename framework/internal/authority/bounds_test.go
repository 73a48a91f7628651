package authority

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// The machine uses the first servers only, so that a server always fits in a bit of a mask.
func TestServersBeyondTheLimitAreNotUsed(t *testing.T) {
	servers := slices.Repeat([]*bootstrap.Server{newServer(t, "xds.test:1")}, MaxServers+1)
	r := newRigOf(t, servers...)
	r.watch(partial, "a")
	for i := range MaxServers - 1 {
		want := []string{fmt.Sprintf("%d!", i), fmt.Sprintf("%d+a", i+1)}
		slices.Sort(want)
		r.expect(strings.Join(want, " "), evLost{Server: i, Err: errRefused})
		r.do(evAsked{i + 1, partial, []string{"a"}})
		r.due(ResourceTimeout)
	}
	r.expect("", evLost{Server: MaxServers - 1, Err: errRefused})
}

// Zero means no timer and no response. Numbers that start over pass it.
func TestNumbersThatStartOver(t *testing.T) {
	r := newRig(t)
	r.m.timers.last, r.m.responses = math.MaxUint32, math.MaxUint32
	a, b := r.watch(complete, "a"), r.watch(complete, "b")
	r.do(evAsked{0, complete, []string{"a", "b"}})
	r.due(ResourceTimeout)
	u := r.update("a", "1")
	r.respond(complete, ok(u))
	if rec := r.m.table(complete).records["a"]; rec.seen == 0 {
		t.Error("a response has the number of none")
	}
	r.now = r.now.Add(ResourceTimeout)
	r.do(evTick{})
	a.wants(t, 1, u, nil)
	b.wants(t, 1, nil, resource.ErrNotFound)
	r.respond(complete)
	a.wants(t, 2, u, resource.ErrRemoved)
}

// A large slice of effects is not kept for the next event.
func TestRoomForEffectsIsBounded(t *testing.T) {
	r := newRig(t)
	for range keptEffects + 1 {
		r.watch(partial, "a")
	}
	r.do(evTick{})
	small := cap(r.m.ready.Notices)
	r.respond(partial, ok(r.update("a", "1")))
	if n := cap(r.m.ready.Notices); small > keptEffects || n > keptEffects {
		t.Errorf("the machine keeps room for %d notices, want at most %d", n, keptEffects)
	}
}

// Records that were many do not keep their map large, and none is lost with the old map.
func TestTableShrinks(t *testing.T) {
	const n = 2 * fewRecords
	r := newRig(t)
	all := make([]*watcher, n)
	for i := range all {
		all[i] = r.watch(partial, fmt.Sprint(i))
	}
	table := r.m.table(partial)
	for i, w := range all[:n-n/4-1] {
		r.cancel(partial, fmt.Sprint(i), w)
	}
	if table.most != n {
		t.Errorf("most = %d with a quarter and one record left, want %d", table.most, n)
	}
	r.cancel(partial, fmt.Sprint(n-n/4-1), all[n-n/4-1])
	if table.most != n/4 || len(table.records) != n/4 {
		t.Errorf("most = %d, %d records; want %d of both", table.most, len(table.records), n/4)
	}
	for i, w := range all[n-n/4:] {
		s := fmt.Sprint(n - n/4 + i)
		u := r.update(s, "1")
		r.respond(partial, ok(u))
		w.wants(t, 1, u, nil)
	}
}

// The client passes an Unchanged with an old place, or without any.
func TestUnchangedElsewhere(t *testing.T) {
	r := newRig(t)
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	list := []Unchanged{{Update: u}}
	unchanged := func() { r.do(Response{Type: partial, Unchanged: list, Version: "3", Partial: true}) }
	unchanged() // without a place
	a.wants(t, 1, u, nil)
	if list[0].Record.r != r.m.table(partial).records["a"] {
		t.Error("the place is not set")
	}
	r.cancel(partial, "a", a)
	a = r.watch(partial, "a")
	unchanged() // the place is that of a record which is gone
	a.wants(t, 1, u, nil)
	if list[0].Record.r != r.m.table(partial).records["a"] {
		t.Error("the place of a record that is gone is not replaced")
	}
	v := r.update("a", "2")
	r.delta(ok(v))
	unchanged() // the record has another update meanwhile
	a.wants(t, 3, u, nil)
	if e := r.entry("a"); e.Version != "3" {
		t.Errorf("version = %q, want that of the response", e.Version)
	}

	other := r.watch(complete, "a")
	r.do(Response{Type: complete, Unchanged: []Unchanged{{Update: u, Record: list[0].Record}}, Partial: true})
	r.do(Response{Type: complete, Unchanged: []Unchanged{{Update: v, Record: list[0].Record}}, Partial: true})
	other.wants(t, 0, nil, nil) // the place is one of another type
	a.wants(t, 3, u, nil)
}

// Resources that come again as they were still end their errors, timers and lifetimes.
func TestUnchangedEndsMoreThanNothing(t *testing.T) {
	r := newRig(t)
	a := r.watch(partial, "a")
	res := []Result{ok(r.update("a", "1"))}
	res[0].TTL = time.Minute
	r.do(Response{Type: partial, Results: res, Partial: true})
	r.next(time.Minute)
	unchanged := Response{Type: partial, Unchanged: []Unchanged{{Update: res[0].Update, Record: res[0].Record}}, Partial: true}
	r.do(unchanged)
	r.next(0)
	r.delta(r.bad("a", "bad"))
	r.do(unchanged)
	a.wants(t, 3, res[0].Update, nil)
	r.watch(partial, "alias")
	aliased := ok(r.update("real", "1"))
	aliased.Aliases = []xdstp.Name{name(t, "alias")}
	r.delta(aliased)
	r.do(unchanged)
	a.wants(t, 3, res[0].Update, nil)
}

// A stopped clock is not stopped again, and one that runs is not started again.
func TestPausesDoNotNest(t *testing.T) {
	r := newRig(t)
	r.watch(partial, "a")
	r.do(evAsked{0, partial, []string{"a"}})
	r.do(evResume{})
	r.now = r.now.Add(time.Second)
	r.do(evPause{Since: r.now})
	r.now = r.now.Add(time.Second)
	r.do(evPause{Since: r.now})
	r.now = r.now.Add(time.Second)
	r.do(evResume{})
	r.do(evResume{})
	r.due(ResourceTimeout - time.Second)
}

// The next deadline is the earlier one of a timer and a time to live.
func TestNextDeadlineIsTheEarliest(t *testing.T) {
	for _, c := range []struct{ ttl, want time.Duration }{
		{time.Second, time.Second},
		{time.Minute, ResourceTimeout / 2},
	} {
		r := newRig(t)
		r.watch(partial, "a")
		r.watch(partial, "b")
		r.do(evAsked{0, partial, []string{"a"}})
		res := ok(r.update("b", "1"))
		res.TTL = c.ttl
		r.delta(res)
		r.next(c.want)
	}
}

// Small maps are left alone.
func TestSmallTableDoesNotShrink(t *testing.T) {
	for most, shrinks := range map[int]bool{fewRecords - 1: false, fewRecords: true} {
		r := newRig(t)
		all := make([]*watcher, most)
		for i := range all {
			all[i] = r.watch(partial, fmt.Sprint(i))
		}
		for i, w := range all {
			r.cancel(partial, fmt.Sprint(i), w)
		}
		if table := r.m.table(partial); (table.most < most) != shrinks {
			t.Errorf("after %d records, most = %d", most, table.most)
		}
	}
}

// Members that a response refuses leave the table at once. They do not hide another one
// that is absent.
func TestAbsenceBesideRefusedMembers(t *testing.T) {
	r := newRig(t)
	g := r.gather(complete, "*")
	r.respond(complete, ok(r.update("a", "1")), ok(r.update("b", "1")), ok(r.update("c", "1")))
	refused := func(s string) Result {
		return Result{Name: name(t, s), Error: &ServerError{Code: codeNotFound}}
	}
	r.respond(complete, refused("a"), refused("b"))
	g.wantsMember(t, "c", nil, resource.ErrRemoved)
	if r.size(complete) != 0 {
		t.Errorf("%d cached, want none", r.size(complete))
	}
}
