package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A row is the result of one package. Equivalent mutants are in no other number.
type row struct {
	Package    string   `json:"package"`
	Mutants    int      `json:"mutants"`
	Covered    int      `json:"covered"`    // mutants that the tests reach
	Equivalent int      `json:"equivalent"` // mutants on the list
	Drawn      int      `json:"drawn"`      // mutants that ran, of those covered
	NotViable  int      `json:"not_viable"` // drawn mutants that do not compile
	Killed     int      `json:"killed"`     // drawn mutants that fail a test, or whose tests do not end
	TimedOut   int      `json:"timed_out"`  // drawn mutants without a result, because the machine is too busy
	Lived      int      `json:"lived"`      // drawn mutants that fail no test
	Seconds    int      `json:"seconds"`
	Survivors  []mutant `json:"survivors"`
	Uncovered  []mutant `json:"uncovered"`
}

func (r *row) coveredPercent() float64 { return percent(r.Covered, r.Mutants) }

func (r *row) killedPercent() float64 {
	return percent(r.Killed, r.Killed+r.Lived)
}

func percent(n, of int) float64 {
	if of == 0 {
		return 100
	}
	return 100 * float64(n) / float64(of)
}

// measure measures one package, with this many packages left. Faults are entries of the list of
// equivalent mutants that are wrong.
func measure(ctx context.Context, e *engine, p plan, b *budget, t task, left int) (r row, faults []error, err error) {
	begin := time.Now()
	r = row{Package: t.dir}
	r.countCoverage(t.mutants)
	if drawn := draw(t.mutants, b.draw(t, begin, left), e.commit+" "+t.dir); !p.onlyCover && len(drawn) > 0 {
		results, err := e.kill(ctx, t, drawn)
		if err != nil {
			return row{}, nil, err
		}
		faults = r.countKilled(t, drawn, results)
		b.took(t, r.Drawn, time.Since(begin))
	}
	r.Seconds = int(t.seconds + time.Since(begin).Seconds())
	return r, faults, nil
}

func (r *row) countCoverage(mutants []mutant) {
	for _, m := range mutants {
		if m.equivalent {
			r.Equivalent++
			continue
		}
		r.Mutants++
		if m.Status == statusRunnable {
			r.Covered++
		} else {
			r.Uncovered = append(r.Uncovered, m)
		}
	}
}

// countKilled counts the results of the drawn mutants. An equivalent mutant that is
// killed is a fault of the list. A drawn mutant without a result is a fault of the run: it
// would count neither as killed nor as a survivor.
func (r *row) countKilled(t task, drawn map[string]map[int]bool, results []mutant) (faults []error) {
	for _, result := range results {
		i, found := slices.BinarySearchFunc(t.mutants, result, compareMutants)
		if !found {
			continue
		}
		m := t.mutants[i]
		m.Status = result.Status
		if m.equivalent {
			if m.Status == statusKilled {
				faults = append(faults, fmt.Errorf("the list of equivalent mutants has one that a test kills: %s/%s:%d:%d %s %q", r.Package, m.File, m.Line, m.Column, m.Mutator, m.Text))
			}
			continue
		}
		switch m.Status {
		case statusKilled:
			r.Killed++
		case statusTimedOut:
			r.TimedOut++
		case statusNotViable:
			r.NotViable++
		case statusLived:
			r.Lived++
			r.Survivors = append(r.Survivors, m)
		default:
			continue
		}
		r.Drawn++
	}
	if n := t.counted(drawn); r.Drawn < n {
		faults = append(faults, fmt.Errorf("%s: gremlins ran %d of the %d drawn mutants", r.Package, r.Drawn, n))
	}
	return faults
}

// below returns an error for each threshold that the package misses.
func (r *row) below(p plan) (faults []error) {
	if r.coveredPercent() < p.covered {
		faults = append(faults, fmt.Errorf("%s: tests reach %.1f %% of the mutants; at least %g %%", r.Package, r.coveredPercent(), p.covered))
	}
	if !p.onlyCover && r.killedPercent() < p.killed {
		faults = append(faults, fmt.Errorf("%s: tests kill %.1f %% of the mutants that they reach; at least %g %%", r.Package, r.killedPercent(), p.killed))
	}
	return faults
}

// survivors copies the lines about survivors of gremlins' output, without equivalent mutants. A run
// that is out of time has no other results of the package at hand.
type survivors struct {
	out        io.Writer
	dir        string
	equivalent map[string]bool // by the end of the line
	line       []byte          // that is not complete
}

func newSurvivors(out io.Writer, dir string, known []mutant) *survivors {
	s := &survivors{out: out, dir: dir, equivalent: make(map[string]bool)}
	for _, m := range known {
		if m.equivalent {
			s.equivalent[fmt.Sprintf("%s at %s:%d:%d", m.Mutator, m.File, m.Line, m.Column)] = true
		}
	}
	return s
}

// Write implements [io.Writer].
func (s *survivors) Write(b []byte) (int, error) {
	s.line = append(s.line, b...)
	for {
		line, rest, complete := bytes.Cut(s.line, []byte("\n"))
		if !complete {
			return len(b), nil
		}
		s.line = rest
		// KIND MUTATOR at FILE:LINE:COLUMN
		if words := strings.Fields(string(line)); len(words) == 4 && words[0] == statusLived && !s.equivalent[strings.Join(words[1:], " ")] {
			if _, err := fmt.Fprintf(s.out, "%s/%s: %s %s\n", s.dir, words[3], words[0], words[1]); err != nil {
				return 0, err
			}
		}
	}
}

// print lists the survivors of a package, and with uncovered the mutants that no test
// reaches.
func (r *row) print(out io.Writer, uncovered bool) {
	list := r.Survivors
	if uncovered {
		list = r.Uncovered
	}
	for _, m := range list {
		_, _ = fmt.Fprintf(out, "%s/%s:%d:%d: %s %s: %s\n", r.Package, m.File, m.Line, m.Column, m.Status, m.Mutator, m.Text)
	}
}

func printTable(out io.Writer, rows []row) {
	const head = "%-44s %8s %9s %9s %6s %9s %6s %8s %6s %11s %5s\n"
	_, _ = fmt.Fprintf(out, "\n"+head, "package", "mutants", "covered", "drawn", "killed", "timed out", "lived", "killed", "equiv.", "not viable", "s")
	for _, r := range rows {
		_, _ = fmt.Fprintf(out, "%-44s %8d %7.1f %% %9s %6d %9d %6d %6.1f %% %6d %11d %5d\n", r.Package, r.Mutants, r.coveredPercent(),
			fmt.Sprintf("%d/%d", r.Drawn, r.Covered), r.Killed, r.TimedOut, r.Lived, r.killedPercent(), r.Equivalent, r.NotViable, r.Seconds)
	}
}
