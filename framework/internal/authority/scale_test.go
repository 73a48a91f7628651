package authority

import (
	"fmt"
	"slices"
	"testing"
)

// Many watchers of one resource, and many members of one collection, are found in
// whatever order they leave.
func TestManyComeAndGo(t *testing.T) {
	const n = 10 * fewWatchers
	r := newRig(t)
	a := name(t, "a")
	all := make([]*watcher, n)
	results := make([]Result, n)
	g := r.gather(partial, "*")
	for i := range all {
		all[i] = new(watcher)
		r.do(evWatch{Type: partial, Name: a, Watcher: all[i]})
		results[i] = ok(r.update(fmt.Sprint(i), "1"))
	}
	r.delta(results...)
	for step := range n {
		gone := step * 7 % n
		r.do(evCancel{Type: partial, Name: a, Watcher: all[gone]})
		r.do(evCancel{Type: partial, Name: a, Watcher: all[gone]}) // once more is nothing
		all[gone] = nil
		r.delta(ok(r.update("a", fmt.Sprint(step))), r.removed(fmt.Sprint(gone)))
		for i, w := range all {
			if w != nil && w.calls != step+1 {
				t.Fatalf("step %d: watcher %d was told %d times", step, i, w.calls)
			}
		}
		if members := r.m.table(partial).records["*"].members(); slices.ContainsFunc(members, func(m *record) bool {
			return members[m.rare.member] != m || m.name.String() == fmt.Sprint(gone)
		}) {
			t.Fatalf("step %d: the members are in disorder", step)
		}
	}
	if g.members["0"].Update != nil || r.size(partial) != 1 { // a is a member too
		t.Errorf("%d cached, want a alone", r.size(partial))
	}
}

// What it costs to cancel must not grow with the number of others.
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
