package main

import (
	"cmp"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
)

// A mutant is one change of one operator, as gremlins reports it.
type mutant struct {
	File    string `json:"file"` // in the package's folder
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Mutator string `json:"mutator"`
	Status  string `json:"status"`
	Text    string `json:"text"` // of the line, without indentation

	function   string
	equivalent bool
}

// Statuses of gremlins.
const (
	statusRunnable  = "RUNNABLE"
	statusUncovered = "NOT COVERED"
	statusSkipped   = "SKIPPED"
	statusKilled    = "KILLED"
	statusLived     = "LIVED"
	statusTimedOut  = "TIMED OUT"
	statusNotViable = "NOT VIABLE"
)

func compareMutants(a, b mutant) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column), cmp.Compare(a.Mutator, b.Mutator))
}

// counted returns the number of mutants on the drawn lines that are in the counts of the package.
func (t *task) counted(drawn map[string]map[int]bool) (n int) {
	for _, m := range t.mutants {
		if m.Status == statusRunnable && !m.equivalent && drawn[m.File][m.Line] {
			n++
		}
	}
	return n
}

// draw chooses lines with at most limit runnable mutants in all. The same seed and
// mutants always give the same lines. Lines on which every mutant is equivalent do
// not take part.
func draw(mutants []mutant, limit int, seed string) map[string]map[int]bool {
	type place struct {
		file string
		line int
	}
	runnable, useful := make(map[place]int), make(map[place]bool)
	var places []place
	for _, m := range mutants {
		if m.Status != statusRunnable {
			continue
		}
		at := place{m.File, m.Line}
		if runnable[at] == 0 {
			places = append(places, at)
		}
		runnable[at]++
		useful[at] = useful[at] || !m.equivalent
	}
	places = slices.DeleteFunc(places, func(at place) bool { return !useful[at] })
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed))))
	random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })

	drawn := make(map[string]map[int]bool)
	left := limit
	for _, at := range places {
		if runnable[at] > left {
			continue
		}
		left -= runnable[at]
		if drawn[at.file] == nil {
			drawn[at.file] = make(map[int]bool)
		}
		drawn[at.file][at.line] = true
	}
	return drawn
}
