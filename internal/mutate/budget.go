package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// compileTime is added to the time of a package's tests for each mutant: Go compiles the package anew.
	compileTime = time.Second
	// reserve is the part of the time that the budget keeps for packages that take longer than expected.
	reserve = 0.05
)

// A budget divides the time of a run among its packages.
type budget struct {
	end          time.Time
	limit, least int // mutants of a package
	workers      int

	// The packages so far.
	expected, spent time.Duration
}

func newBudget(p plan, begin time.Time) *budget {
	return &budget{end: begin.Add(time.Duration((1 - reserve) * float64(p.time))), limit: p.limit, least: p.least, workers: p.workers}
}

// order sorts tasks by the time that they need for all their mutants within the limit. Cheap packages leave time to the
// expensive ones.
func (b *budget) order(tasks []task) {
	slices.SortStableFunc(tasks, func(x, y task) int { return cmp.Compare(b.need(x), b.need(y)) })
}

func (b *budget) need(t task) time.Duration {
	return time.Duration(min(b.limit, t.runnable())) * b.mutant(t)
}

// mutant is the expected time of one mutant, if every package takes as long as expected.
func (b *budget) mutant(t task) time.Duration {
	return (t.took + compileTime) / time.Duration(b.workers)
}

// draw returns how many mutants of the next package fit in its share of the time, with this many packages left. It is
// at most the limit. It is not below least, even if the time is over.
func (b *budget) draw(t task, now time.Time, left int) int {
	each := float64(b.mutant(t))
	if b.expected > 0 {
		each *= float64(b.spent) / float64(b.expected)
	}
	share := float64(b.end.Sub(now)) / float64(left)
	return int(min(float64(b.limit), max(float64(b.least), math.Floor(share/each))))
}

// took records how long a package with this many mutants has taken.
func (b *budget) took(t task, mutants int, spent time.Duration) {
	b.expected += time.Duration(mutants) * b.mutant(t)
	b.spent += spent
}
