package adsserver

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSubs compares subscriptions with a map under random additions and removals.
func TestSubs(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var l subs
		want := make(map[uint64]bool)
		for range 30 {
			var fresh []sub
			ids := make(map[uint64]bool)
			for range rnd.IntN(1 + rnd.IntN(1000)) {
				if id := 1 + rnd.Uint64N(5000); !want[id] {
					ids[id] = true
				}
			}
			for _, id := range slices.Sorted(maps.Keys(ids)) {
				fresh = append(fresh, sub{id: id, flags: byName})
				want[id] = true
			}
			l.add(fresh...)
			share := rnd.IntN(20)
			for _, id := range slices.Sorted(maps.Keys(want)) {
				if rnd.IntN(20) < share*rnd.IntN(2) {
					l.end(l.find(id))
					delete(want, id)
				}
			}
			l.compact()
			sorted := slices.Sorted(maps.Keys(want))
			var got []uint64
			for p := range l.all() {
				got = append(got, p.id)
			}
			if !slices.Equal(got, sorted) || l.n != len(sorted) {
				t.Fatalf("seed %d: %d subscriptions (n = %d), want %d", seed, len(got), l.n, len(sorted))
			}
			at := rnd.Uint64N(5002)
			i, found := slices.BinarySearch(sorted, at)
			if p := l.find(at); (p != nil) != found || p != nil && p.id != at {
				t.Fatalf("seed %d: find(%d) = %v, want it: %t", seed, at, p, found)
			}
			n := 0
			for p := range l.from(at) {
				if p.id != sorted[i+n] {
					t.Fatalf("seed %d: from(%d) yields %d, want %d", seed, at, p.id, sorted[i+n])
				}
				n++
			}
			if n != len(sorted)-i {
				t.Fatalf("seed %d: from(%d) yields %d subscriptions, want %d", seed, at, n, len(sorted)-i)
			}
			for i, c := range l.chunks {
				if len(c) == 0 || len(c) > chunkSize {
					t.Fatalf("seed %d: chunk %d has %d subscriptions", seed, i, len(c))
				}
			}
		}
	}
}
