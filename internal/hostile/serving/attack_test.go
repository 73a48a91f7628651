package main

import (
	"testing"
	"time"
)

// The table names each attack once, and each has a bound of memory.
func TestAttacks(t *testing.T) {
	seen := make(map[string]bool)
	for _, a := range allAttacks() {
		if seen[a.name] {
			t.Errorf("attack %q is twice in the table", a.name)
		}
		seen[a.name] = true
		if a.budget <= 0 || a.run == nil {
			t.Errorf("attack %q has the budget %d; must be above zero, and it must have a function", a.name, a.budget)
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d attacks, want at least 40", len(seen))
	}
}

// A row misses exactly the bounds that its result exceeds.
func TestMissed(t *testing.T) {
	a := attack{budget: request, ends: "Limits.Names"}
	good := result{Outcome: Outcome{Verdict: "names = 3 (Limits.Names)"}, memory: a.memory(), before: time.Second, delay: time.Second + moreDelay, changes: 1, lines: mostLines}
	if why := a.missed(good); len(why) != 0 {
		t.Errorf("a result within its bounds misses %q", why)
	}
	for want, change := range map[string]func(*result){
		"memory":                 func(r *result) { r.memory++ },
		"delay":                  func(r *result) { r.delay++ },
		"victim":                 func(r *result) { r.changes = 0 },
		"lines":                  func(r *result) { r.lines++ },
		`verdict "Limits.Names"`: func(r *result) { r.Verdict = "" },
	} {
		r := good
		change(&r)
		if why := a.missed(r); len(why) != 1 || why[0] != want {
			t.Errorf("the bounds %q are missed, want only %q", why, want)
		}
	}
}
