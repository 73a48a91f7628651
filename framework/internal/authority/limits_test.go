package authority

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// size is the number of cached endpoints.
func (r *rig) size() int { return r.m.Shard(r.m.config.Types.Index(endpoints)).Len() }

// The machine uses the first servers only, because a mask has a bit for each server.
func TestServersBeyondTheLimitAreNotUsed(t *testing.T) {
	var servers []*bootstrap.Server
	for i := range MaxServers + 1 {
		servers = append(servers, newServer(t, fmt.Sprint("s", i)))
	}
	r := newRigOf(t, servers...)
	r.run("watch endpoint a")
	for i := range MaxServers - 1 {
		r.expect(fmt.Sprintf("s%d: renew\ns%d: subscribe endpoint a", i, i+1), fmt.Sprintf("ended server=s%d refused", i))
		r.expect("deadline in 7.5s", fmt.Sprintf("requested endpoint server=s%d a", i+1), "deadline")
	}
	r.expect(fmt.Sprintf("notify a: unreachable: s%d: refused", MaxServers-1), fmt.Sprintf("ended server=s%d refused", MaxServers-1))
}

// The number 0 means no timer and no response. Counters that overflow skip it.
func TestNumbersThatStartOver(t *testing.T) {
	r := newRig(t)
	r.m.timers.last, r.m.responses = math.MaxUint32, math.MaxUint32
	r.run("watch cluster a", "watch cluster b", "requested cluster a b")
	r.expect("notify a: content 1", "response cluster a=1")
	if rec := r.m.recordsOf(clusters).known("a"); rec.lastResponse == 0 {
		t.Error("a response has the number 0")
	}
	r.expect("after 7.5s: server: repeat cluster b\nafter 15s: notify b: does not exist", "wait 15s")
	r.expect("missing cluster a of server\nnotify a: content 1, removed", "response cluster")
}

// The machine distinguishes responses of any number.
func TestNumbersOfResponses(t *testing.T) {
	for responses := range uint32(4) {
		r := newRig(t)
		r.run("watch cluster a")
		r.m.responses = responses
		r.run("response cluster a=1")
		r.expect("missing cluster a of server\nnotify a: content 1, removed", "response cluster")
	}
}

// The machine does not keep a large slice of effects for the next Ready.
func TestRoomForEffectsIsBounded(t *testing.T) {
	r := newRig(t)
	for i := range keptEffects + 1 {
		r.run(fmt.Sprint("watch endpoint a by=", i))
	}
	r.run("wait 1s")
	small := cap(r.m.ready.Notices)
	r.run("response endpoint a=1")
	if n := cap(r.m.ready.Notices); small > keptEffects || n > keptEffects {
		t.Errorf("the machine keeps room for %d notices, want at most %d", n, keptEffects)
	}
}

// A cleared Ready refers to no update.
func TestOldEffectsKeepNothing(t *testing.T) {
	r := newRig(t)
	r.run("watch endpoint a")
	update := r.update(0, "a", "1")
	r.m.Received(&Response{Type: endpoints, Results: []Result{{Name: update.Name(), Update: update}}}, r.now)
	ready := r.m.Ready()
	ready.Clear()
	if n := ready.Notices; len(n) != 1 || n[0] != (Notice{}) {
		t.Errorf("notices = %v, want one that is empty", n)
	}
}

// watchMany watches n endpoints that are called like numbers.
func (r *rig) watchMany(n int) {
	r.t.Helper()
	for i := range n {
		r.run(fmt.Sprint("watch endpoint ", i))
	}
}

// When most of many records are gone, the table has the remaining ones.
func TestTableShrinks(t *testing.T) {
	const n = 2000
	r := newRig(t)
	r.watchMany(n)
	table := r.m.recordsOf(endpoints)
	for i := range n - n/20 {
		r.run(fmt.Sprint("cancel endpoint ", i))
	}
	if table.byName.Len() != n/20 {
		t.Errorf("%d records; want %d", table.byName.Len(), n/20)
	}
	for i := n - n/20; i < n; i++ {
		r.expect(fmt.Sprintf("notify %d: content 1", i), fmt.Sprintf("response endpoint %d=1", i))
	}
	r.checkCounts()
}

// The machine finds each of many watchers of a resource and each of many members of a collection.
// The order of cancellations and removals does not matter.
func TestManyWatchersAndMembers(t *testing.T) {
	const n = 10 * fewWatchers
	r := newRig(t)
	r.run("watch endpoint *")
	var response strings.Builder
	for i := range n {
		r.run(fmt.Sprintf("watch endpoint a by=%d", i))
		fmt.Fprintf(&response, " %d=1", i)
	}
	r.run("response endpoint" + response.String())
	for step := range n {
		gone := step * 7 % n
		r.run(fmt.Sprintf("cancel endpoint a by=%d", gone), fmt.Sprintf("cancel endpoint a by=%d", gone)) // the second has no effect
		out := r.run(fmt.Sprintf("response endpoint a=%d %d=removed", step, gone))
		if got := strings.Count(out, "notify a"); got != n-step-1 || strings.Contains(out, fmt.Sprintf("(%d)", gone)) {
			t.Fatalf("step %d: %d watchers are notified, want %d", step, got, n-step-1)
		}
		if want := fmt.Sprintf("member %d of *: removed", gone); !strings.Contains(out, want) {
			t.Fatalf("step %d: no effect %q", step, want)
		}
		if members := r.m.recordsOf(endpoints).known("*").members(); slices.ContainsFunc(members, func(m *record) bool {
			return members[m.extras.member] != m || m.name.String() == fmt.Sprint(gone)
		}) {
			t.Fatalf("step %d: the positions of members are wrong", step)
		}
	}
	if r.size() != 1 { // a is a member, too
		t.Errorf("%d cached, want only a", r.size())
	}
}

// The client passes an Unchanged with an old handle, or without any.
func TestUnchangedWithAnotherHandle(t *testing.T) {
	r := newRig(t)
	r.run("watch endpoint a")
	list := []Unchanged{{Update: r.update(0, "a", "1")}}
	unchanged := func(want string) {
		t.Helper()
		r.output.Reset()
		r.handle(func() { r.m.Received(&Response{Type: endpoints, Unchanged: list, Version: "3"}, r.now) })
		if got := strings.TrimSpace(r.output.String()); got != want {
			t.Errorf("effects = %q, want %q", got, want)
		}
	}
	unchanged("notify a: content 1") // without a handle
	if list[0].Record.r != r.m.recordsOf(endpoints).known("a") {
		t.Error("the handle is not set")
	}
	r.run("cancel endpoint a", "watch endpoint a")
	unchanged("notify a: content 1") // the handle is of the cancelled record
	if list[0].Record.r != r.m.recordsOf(endpoints).known("a") {
		t.Error("the handle of a cancelled record is not replaced")
	}
	r.run("response endpoint a=2")
	unchanged("notify a: content 1") // the record has another update meanwhile
	if e := r.entry("a"); e.Version != "3" {
		t.Errorf("version = %q, want that of the response", e.Version)
	}

	r.run("watch cluster a")
	for _, u := range []Unchanged{list[0], {Update: r.update(0, "a", "2"), Record: list[0].Record}} {
		r.output.Reset()
		r.handle(func() { r.m.Received(&Response{Type: clusters, Unchanged: []Unchanged{u}, Partial: true}, r.now) })
		if r.output.Len() > 0 {
			t.Errorf("the handle is of another type: effects %q, want none", r.output.String())
		}
	}
}

// A stopped timer leaves the queue.
func TestStoppedTimersLeaveTheQueue(t *testing.T) {
	r := newRig(t)
	r.run("watch endpoint a", "watch endpoint b", "requested endpoint a b", "response endpoint a=1 b=1", "deadline")
	if len(r.m.timers.queue) != 0 {
		t.Errorf("queue = %v, want none", r.m.timers.queue)
	}
}

// The cost of a cancellation must not grow with the number of other watchers.
func BenchmarkCancel(b *testing.B) {
	for _, n := range []int{1000, 32_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := &record{}
			watchers := make([]watcher, n)
			for i := range watchers {
				r.addWatcher(&watchers[i])
			}
			for b.Loop() {
				r.removeWatcher(&watchers[n/2])
				r.addWatcher(&watchers[n/2])
			}
		})
	}
}
