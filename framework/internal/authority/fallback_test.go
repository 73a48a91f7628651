package authority

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
)

func decide(t *testing.T, what string, d decision, use, drop []int) {
	t.Helper()
	if !slices.Equal(d.use, use) || !slices.Equal(d.drop, drop) {
		t.Errorf("%s: use %v, drop %v; want %v, %v", what, d.use, d.drop, use, drop)
	}
}

func inUse(t *testing.T, m *serverChoice, want int, exhausted bool) {
	t.Helper()
	if m.active != want || m.exhausted() != exhausted {
		t.Errorf("active = %d, exhausted = %v; want %d, %v", m.active, m.exhausted(), want, exhausted)
	}
}

func responded(t *testing.T, m *serverChoice, i int, want bool, drop ...int) {
	t.Helper()
	d, ok := m.responded(i)
	if ok != want {
		t.Errorf("the response of %d counts: %v, want %v", i, ok, want)
	}
	decide(t, fmt.Sprint("response of ", i), d, nil, drop)
}

func TestFirstServerIsUsedWhenSomethingIsWanted(t *testing.T) {
	m := newServerChoice(2)
	inUse(t, m, noServer, false)
	decide(t, "wanted", m.wanted(true), []int{0}, nil)
	decide(t, "wanted again", m.wanted(true), nil, nil)
	inUse(t, m, 0, false)
	responded(t, m, 0, true)
	responded(t, m, 1, false) // it was never asked
}

func TestFallsBackOnlyForWhatIsNotCached(t *testing.T) {
	m := newServerChoice(3)
	m.wanted(true)
	decide(t, "failure with everything cached", m.failed(0, false), nil, nil)
	inUse(t, m, 0, true)
	decide(t, "an uncached watch later", m.wanted(true), []int{1}, nil)
	inUse(t, m, 1, false)
	decide(t, "failure of the second", m.failed(1, true), []int{2}, nil)
	decide(t, "failure of the last", m.failed(2, true), nil, nil)
	inUse(t, m, 2, true)
	decide(t, "failure of the first again", m.failed(0, true), nil, nil)
	inUse(t, m, 2, true)
}

// With A95's knob, reachability alone decides, up to the last live server. The store after it is for resources that are not
// cached.
func TestFallsBackOnReachabilityOnly(t *testing.T) {
	m := newServerChoice(3)
	m.eager = 2
	m.wanted(true)
	decide(t, "failure with everything cached", m.failed(0, false), []int{1}, nil)
	decide(t, "failure of the last live server", m.failed(1, false), nil, nil)
	inUse(t, m, 1, true)
	decide(t, "an uncached watch", m.wanted(true), []int{2}, nil)
	responded(t, m, 0, true, 1, 2)
	decide(t, "another failure", m.failed(0, false), []int{1}, nil)
}

// The machine counts the live servers.
func TestReachabilityOnlySparesTheStore(t *testing.T) {
	for _, tt := range []struct {
		only, store bool
		eager       int
	}{{false, false, 0}, {false, true, 0}, {true, false, 3}, {true, true, 2}} {
		m := New(Config{Types: new(resource.Set), Servers: make([]*bootstrap.Server, 3), FallbackOnReachabilityOnly: tt.only, Store: tt.store})
		if m.choice.eager != tt.eager {
			t.Errorf("reachability only %t, store %t: %d servers are used eagerly; want %d", tt.only, tt.store, m.choice.eager, tt.eager)
		}
	}
}

func TestRevertsWithTheFirstResponse(t *testing.T) {
	m := newServerChoice(3)
	m.wanted(true)
	m.failed(0, true)
	m.failed(1, true)
	responded(t, m, 2, true)
	m.healthy(0) // up, but silent
	inUse(t, m, 2, false)
	responded(t, m, 0, true, 1, 2)
	inUse(t, m, 0, false)
	responded(t, m, 2, false) // too late
	decide(t, "failure of one not in use", m.failed(1, true), nil, nil)
	decide(t, "failure of the first", m.failed(0, true), []int{1}, nil)
}

func TestRevertsToTheMiddle(t *testing.T) {
	m := newServerChoice(3)
	m.wanted(true)
	m.failed(0, true)
	m.failed(1, true)
	responded(t, m, 1, true, 2)
	inUse(t, m, 1, false)
	responded(t, m, 0, true, 1)
}

func TestUnwantedDropsAll(t *testing.T) {
	m := newServerChoice(2)
	m.wanted(true)
	m.failed(0, true)
	decide(t, "unwanted", m.unwanted(), nil, []int{0, 1})
	inUse(t, m, noServer, false)
	decide(t, "unwanted again", m.unwanted(), nil, nil)
	decide(t, "wanted", m.wanted(true), []int{0}, nil)
}

// After any events, exactly the servers up to the active one are in use. Use and Drop report each
// change.
func TestUsedAreThoseUpToTheActive(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range 2000 {
		n := 1 + r.IntN(4)
		m := newServerChoice(n)
		m.eager = r.IntN(n + 1)
		used := make([]bool, n)
		for range 30 {
			var d decision
			switch i := r.IntN(n); r.IntN(6) {
			case 0, 1:
				d = m.failed(i, r.IntN(2) == 0)
			case 2, 3:
				d, _ = m.responded(i)
			case 4:
				d = m.wanted(r.IntN(2) == 0)
			case 5:
				if r.IntN(4) == 0 {
					d = m.unwanted()
				}
			}
			for _, i := range d.use {
				used[i] = true
			}
			for _, i := range d.drop {
				used[i] = false
			}
			for i := range n {
				if used[i] != (i <= m.active) || m.used(i) != used[i] {
					t.Fatalf("server %d of %d: used %v, told %v, active %d", i, n, m.used(i), used[i], m.active)
				}
			}
		}
	}
}

// TestReachable follows an authority with a last known good store through an outage.
func TestReachable(t *testing.T) {
	r := newRig(t)
	r.run("client server store")
	for _, step := range []struct {
		event              string
		reachable, settled bool
	}{
		{"deadline", false, true}, // nothing is watched
		{"watch cluster a", true, false},
		{"watch cluster b", true, false},
		{"requested cluster a b", true, false},
		{"response cluster a=1", true, false},
		{"wait 16s", true, true},
		{"ended unavailable: gone", false, true},
		{"watch cluster c", false, false},
		{"response server=store cluster a=1 c=1", false, true},
		{"healthy", false, true}, // the store is in use until the server sends something
		{"watch cluster d", false, false},
		{"response cluster a=1 b=1 c=1 d=1", true, true},
	} {
		r.run(step.event)
		if r.m.Reachable() != step.reachable || r.m.Settled() != step.settled {
			t.Errorf("after %q: reachable %t, settled %t; want %t, %t", step.event, r.m.Reachable(), r.m.Settled(), step.reachable, step.settled)
		}
	}
}
