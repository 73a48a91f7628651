package ads

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestPositions compares positions with a map, for random names that come and go.
func TestPositions(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var p positions
		var names []string
		want := make(map[string]int)
		for range 400 {
			name := fmt.Sprint("name ", rng.IntN(60))
			if i, known := want[name]; known {
				p.replace(names, i)
				last := len(names) - 1
				names[i] = names[last]
				want[names[i]] = i
				names = names[:last]
				delete(want, name)
			} else {
				names = append(names, name)
				p.add(names)
				want[name] = len(names) - 1
			}
			for n := range 60 {
				name := fmt.Sprint("name ", n)
				i, known := want[name]
				if got, ok := p.find(names, name); ok != known || ok && got != i {
					t.Fatalf("seed %d: %q is at %d, %t; want %d, %t", seed, name, got, ok, i, known)
				}
			}
		}
		if p.used != len(names) {
			t.Errorf("seed %d: %d positions, want %d", seed, p.used, len(names))
		}
	}
}

// TestPositionsAreSmall expects at most 12 bytes a name while a table grows.
func TestPositionsAreSmall(t *testing.T) {
	var p positions
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprint(i))
		p.add(names)
		if size := 4 * len(p.slots); i > 100 && size > 12*len(names) {
			t.Fatalf("%d names take %d bytes, want at most 12 each", len(names), size)
		}
	}
}
