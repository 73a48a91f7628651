package fallback

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func decide(t *testing.T, what string, d Decision, use, drop []int) {
	t.Helper()
	if !slices.Equal(d.Use, use) || !slices.Equal(d.Drop, drop) {
		t.Errorf("%s: use %v, drop %v; want %v, %v", what, d.Use, d.Drop, use, drop)
	}
}

func active(t *testing.T, m *Machine, want int, exhausted bool) {
	t.Helper()
	if m.Active() != want || m.Exhausted() != exhausted {
		t.Errorf("active = %d, exhausted = %v; want %d, %v", m.Active(), m.Exhausted(), want, exhausted)
	}
}

func counts(t *testing.T, m *Machine, i int, want bool, drop ...int) {
	t.Helper()
	d, ok := m.Responded(i)
	if ok != want {
		t.Errorf("the response of %d counts: %v, want %v", i, ok, want)
	}
	decide(t, fmt.Sprint("response of ", i), d, nil, drop)
}

func TestFirstServerIsUsedWhenSomethingIsWanted(t *testing.T) {
	m := New(2)
	active(t, m, None, false)
	decide(t, "wanted", m.Wanted(true), []int{0}, nil)
	decide(t, "wanted again", m.Wanted(true), nil, nil)
	active(t, m, 0, false)
	counts(t, m, 0, true)
	counts(t, m, 1, false) // it was never asked
}

func TestFallsBackOnlyForWhatIsNotCached(t *testing.T) {
	m := New(3)
	m.Wanted(true)
	decide(t, "failure with everything cached", m.Failed(0, false), nil, nil)
	active(t, m, 0, true)
	decide(t, "an uncached watch later", m.Wanted(true), []int{1}, nil)
	active(t, m, 1, false)
	decide(t, "failure of the second", m.Failed(1, true), []int{2}, nil)
	decide(t, "failure of the last", m.Failed(2, true), nil, nil)
	active(t, m, 2, true)
	decide(t, "failure of the first again", m.Failed(0, true), nil, nil)
	active(t, m, 2, true)
}

func TestRevertsWithTheFirstResponse(t *testing.T) {
	m := New(3)
	m.Wanted(true)
	m.Failed(0, true)
	m.Failed(1, true)
	counts(t, m, 2, true)
	m.Healthy(0) // up, but silent
	active(t, m, 2, false)
	counts(t, m, 0, true, 1, 2)
	active(t, m, 0, false)
	counts(t, m, 2, false) // too late
	decide(t, "failure of one not in use", m.Failed(1, true), nil, nil)
	decide(t, "failure of the first", m.Failed(0, true), []int{1}, nil)
}

func TestRevertsToTheMiddle(t *testing.T) {
	m := New(3)
	m.Wanted(true)
	m.Failed(0, true)
	m.Failed(1, true)
	counts(t, m, 1, true, 2)
	active(t, m, 1, false)
	counts(t, m, 0, true, 1)
}

func TestUnwantedDropsAll(t *testing.T) {
	m := New(2)
	m.Wanted(true)
	m.Failed(0, true)
	decide(t, "unwanted", m.Unwanted(), nil, []int{0, 1})
	active(t, m, None, false)
	decide(t, "unwanted again", m.Unwanted(), nil, nil)
	decide(t, "wanted", m.Wanted(true), []int{0}, nil)
}

// Whatever happens: the servers up to the active one are used, no other is, and
// Use and Drop say what changed.
func TestUsedAreThoseUpToTheActive(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range 2000 {
		n := 1 + r.IntN(4)
		m := New(n)
		used := make([]bool, n)
		for range 30 {
			var d Decision
			switch i := r.IntN(n); r.IntN(6) {
			case 0, 1:
				d = m.Failed(i, r.IntN(2) == 0)
			case 2, 3:
				d, _ = m.Responded(i)
			case 4:
				d = m.Wanted(r.IntN(2) == 0)
			case 5:
				if r.IntN(4) == 0 {
					d = m.Unwanted()
				}
			}
			for _, i := range d.Use {
				used[i] = true
			}
			for _, i := range d.Drop {
				used[i] = false
			}
			for i := range n {
				if used[i] != (i <= m.Active()) || m.Used(i) != used[i] {
					t.Fatalf("server %d of %d: used %v, told %v, active %d", i, n, m.Used(i), used[i], m.Active())
				}
			}
		}
	}
}
