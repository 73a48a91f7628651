package main

import (
	"context"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/cover"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDraw(t *testing.T) {
	var mutants []mutant
	for line := 1; line <= 100; line++ {
		mutants = append(
			mutants,
			mutant{File: "a.go", Line: line, Column: 1, Mutator: "A", Status: statusRunnable},
			mutant{File: "a.go", Line: line, Column: 9, Mutator: "A", Status: statusRunnable},
			mutant{File: "b.go", Line: line, Column: 1, Mutator: "A", Status: statusRunnable, equivalent: line%2 == 0},
			mutant{File: "c.go", Line: line, Column: 1, Mutator: "A", Status: statusUncovered},
		)
	}
	count := func(drawn map[string]map[int]bool) int { return 2*len(drawn["a.go"]) + len(drawn["b.go"]) }

	first := draw(mutants, 50, "one")
	if got := count(first); got != 50 {
		t.Errorf("%d mutants are drawn, want 50", got)
	}
	shuffled := slices.Clone(mutants)
	slices.Reverse(shuffled)
	if again := draw(shuffled, 50, "one"); !reflect.DeepEqual(first, again) {
		t.Errorf("the same seed draws %v, and then %v", first, again)
	}
	if other := draw(mutants, 50, "two"); reflect.DeepEqual(first, other) {
		t.Errorf("two seeds draw the same lines: %v", first)
	}
	all := draw(mutants, 1000, "one")
	if len(all["a.go"]) != 100 || len(all["b.go"]) != 50 || len(all["c.go"]) != 0 {
		t.Errorf("without a limit, %d, %d and %d lines are drawn; want 100, 50 that have other than equivalent mutants, and 0 without coverage",
			len(all["a.go"]), len(all["b.go"]), len(all["c.go"]))
	}
}

// TestDrawRepository reads the changed lines from the repository, as gremlins does. Each hunk is
// one range.
func TestDrawRepository(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.go"), "package a\n\nvar a = 1\nvar b = 2\nvar c = 3\nvar d = 4")
	write(t, filepath.Join(folder, "b.go"), "package a\n")
	r, err := newDrawRepository(t.Context(), t.TempDir(), folder, map[string]map[int]bool{"a.go": {3: true, 5: true, 6: true}})
	if err != nil {
		t.Fatal(err)
	}
	diff, err := output(t.Context(), t.TempDir(), r.environment, "git", "diff", "--merge-base", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var hunks []string
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "+++") {
			hunks = append(hunks, strings.Join(strings.Fields(line)[:min(3, len(strings.Fields(line)))], " "))
		}
	}
	if want := []string{"+++ b/a.go", "@@ -3 +3", "@@ -5,2 +5,2"}; !slices.Equal(hunks, want) {
		t.Errorf("the diff has %q, want %q; it is\n%s", hunks, want, diff)
	}
}

const source = `package a

const size = 4 * 5

var f = func(a int) int { return a + 1 }

func (t *T[K]) Kind(a, b int) string {
	switch {
	case a < b, a+b > size:
		return "x" + "y"
	}
	switch a {
	case -b:
	}
	return ""
}

func plain(a int) bool { return a > 0 && a > 1 }
`

func TestUncountedOperators(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "a.go"), source)
	for _, tt := range []struct {
		why    string
		blocks []cover.ProfileBlock
		want   []string
	}{
		{"nothing runs", nil, []string{"3:16"}},
		{"the first switch is reached", []cover.ProfileBlock{{StartLine: 7, StartCol: 40, EndLine: 8, EndCol: 9, Count: 1}}, []string{"3:16", "9:9", "9:15", "9:18"}},
		{"both are", []cover.ProfileBlock{
			{StartLine: 7, StartCol: 40, EndLine: 8, EndCol: 9, Count: 1},
			{StartLine: 12, StartCol: 2, EndLine: 12, EndCol: 11, Count: 7},
		}, []string{"3:16", "9:9", "9:15", "9:18", "13:7"}},
		{"a block ends before a switch, another one begins behind it", []cover.ProfileBlock{
			{StartLine: 7, StartCol: 40, EndLine: 8, EndCol: 2, Count: 1},
			{StartLine: 8, StartCol: 3, EndLine: 9, EndCol: 1, Count: 1},
			{StartLine: 12, StartCol: 2, EndLine: 12, EndCol: 11, Count: 0},
		}, []string{"3:16"}},
	} {
		found, err := uncountedOperators(file, tt.blocks)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range found {
			got = append(got, strings.TrimPrefix(p.String(), file+":"))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: the operators are at %q, want %q", tt.why, got, tt.want)
		}
	}
}

func TestWidenProfile(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.com/m\n")
	write(t, filepath.Join(root, "b", "a.go"), source)
	write(t, filepath.Join(root, "b", "a_test.go"), source)
	write(t, filepath.Join(root, "b", "b.go"), "package b\n\nconst half = 1 / 2.0\n") // without statements
	head := "mode: set\nexample.com/m/b/a.go:7.40,8.9 1 1\n"
	profile := write(t, filepath.Join(root, "profile"), head)
	if err := widenProfile(profile, root); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	want := head
	for _, at := range []string{"3.16,3.17", "9.9,9.10", "9.15,9.16", "9.18,9.19"} {
		want += "example.com/m/b/a.go:" + at + " 1 1\n"
	}
	want += "example.com/m/b/b.go:3.16,3.17 1 1\n"
	if string(got) != want {
		t.Errorf("the profile is\n%s\nwant\n%s", got, want)
	}
}

// TestPackages expects the matching packages, without those of test helpers.
func TestPackages(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.com/m\n")
	write(t, filepath.Join(root, "a", "a.go"), "package a\n")
	write(t, filepath.Join(root, "a", "a_test.go"), "package a\n\nimport _ \"testing\"\n")
	write(t, filepath.Join(root, "a", "kit", "kit.go"), "package kit\n\nimport _ \"testing\"\n")
	write(t, filepath.Join(root, "a", "z", "z.go"), "package z\n\nimport _ \"os\"\n")
	e := &engine{copy: root}
	got, err := e.packages(t.Context(), []string{"./..."})
	if err != nil || !slices.Equal(got, []string{"a", "a/z"}) {
		t.Errorf("the packages are %q, %v; want a and a/z", got, err)
	}
}

func TestEquivalents(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.go"), source)
	fresh := func() []mutant {
		mutants := []mutant{
			{File: "a.go", Line: 3, Column: 16, Mutator: "ARITHMETIC"},
			{File: "a.go", Line: 9, Column: 9, Mutator: "BOUNDARY"},
			{File: "a.go", Line: 9, Column: 18, Mutator: "BOUNDARY"},
			{File: "a.go", Line: 9, Column: 18, Mutator: "NEGATION"},
			{File: "a.go", Line: 18, Column: 35, Mutator: "BOUNDARY"},
		}
		if err := locate(folder, mutants); err != nil {
			t.Fatal(err)
		}
		return mutants
	}
	const line = "case a < b, a+b > size:"
	for _, tt := range []struct {
		why   string
		entry equivalent
		want  []int // the marked mutants; no entry is stale
	}{
		{"all on a line", equivalent{File: "p/a.go", Func: "T.Kind", Line: line, Mutator: "BOUNDARY"}, []int{1, 2}},
		{"one of them", equivalent{File: "p/a.go", Func: "T.Kind", Line: line, Mutator: "BOUNDARY", Nth: 2}, []int{2}},
		{"outside of functions", equivalent{File: "p/a.go", Line: "const size = 4 * 5", Mutator: "ARITHMETIC"}, []int{0}},
		{"a plain function", equivalent{File: "p/a.go", Func: "plain", Line: "func plain(a int) bool { return a > 0 && a > 1 }", Mutator: "BOUNDARY"}, []int{4}},
		{"another function", equivalent{File: "p/a.go", Func: "Kind", Line: line, Mutator: "BOUNDARY"}, nil},
		{"another text", equivalent{File: "p/a.go", Func: "T.Kind", Line: "case a < b:", Mutator: "BOUNDARY"}, nil},
		{"another mutator", equivalent{File: "p/a.go", Func: "T.Kind", Line: line, Mutator: "ARITHMETIC"}, nil},
		{"another file", equivalent{File: "p/b.go", Func: "T.Kind", Line: line, Mutator: "BOUNDARY"}, nil},
		{"more than there are", equivalent{File: "p/a.go", Func: "T.Kind", Line: line, Mutator: "BOUNDARY", Nth: 3}, nil},
	} {
		mutants := fresh()
		faults := equivalents{tt.entry}.mark(mutants)
		var got []int
		for i, m := range mutants {
			if m.equivalent {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, tt.want) || (len(faults) == 0) != (len(tt.want) > 0) {
			t.Errorf("%s: marks %v with faults %v, want %v", tt.why, got, faults, tt.want)
		}
	}
}

func TestReadEquivalents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list.yaml")
	for text, want := range map[string]int{
		"": 0,
		"- {file: a/b.go, func: f, line: x, mutator: M, nth: 2, reason: r}\n- {file: c/b.go, line: x, mutator: M, reason: r}": 2,
		"- {file: a/b.go, line: x, mutator: M}":                      -1, // no reason
		"- {file: a/b.go, line: x, mutator: M, reason: r, found: y}": -1,
	} {
		list, err := readEquivalents(write(t, name, text))
		if (err != nil) != (want < 0) || err == nil && len(list) != want {
			t.Errorf("%q is read as %v, %v", text, list, err)
		}
	}
	list, err := readEquivalents("equivalent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join("..", "..", e.File))
		if err != nil || !strings.Contains(string(text), e.Line) {
			t.Errorf("the entry for %s has no line %q any more (%v)", e.File, e.Line, err)
		}
		if !slices.ContainsFunc(defaultPackages(), func(pattern string) bool {
			dir, below := strings.CutSuffix(pattern, "/...")
			return pattern == "./"+path.Dir(e.File) || below && strings.HasPrefix("./"+e.File, dir+"/")
		}) {
			t.Errorf("no default package has %s, which the list has", e.File)
		}
	}
	if of := list.of("framework/xdstp"); len(of) == 0 || len(of) == len(list) && len(list) > 5 {
		t.Errorf("%d of %d entries are of framework/xdstp", len(of), len(list))
	}
}

func TestCounting(t *testing.T) {
	found := []mutant{
		{File: "a.go", Line: 1, Mutator: "A", Status: statusRunnable},
		{File: "a.go", Line: 2, Mutator: "A", Status: statusRunnable},
		{File: "a.go", Line: 3, Mutator: "A", Status: statusRunnable},
		{File: "a.go", Line: 4, Mutator: "A", Status: statusRunnable},
		{File: "a.go", Line: 5, Mutator: "A", Status: statusRunnable, equivalent: true},
		{File: "a.go", Line: 6, Mutator: "A", Status: statusUncovered},
		{File: "a.go", Line: 7, Mutator: "A", Status: statusRunnable},
	}
	results := slices.Clone(found)
	for i, status := range []string{statusKilled, statusTimedOut, statusLived, statusNotViable, statusLived, statusUncovered, statusSkipped} {
		results[i].Status = status
	}
	drawn := map[string]map[int]bool{"a.go": {1: true, 2: true, 3: true, 4: true, 5: true, 6: true}}
	all := task{mutants: found}
	r := row{Package: "p"}
	r.countCoverage(found)
	if faults := r.countKilled(all, drawn, results); len(faults) > 0 {
		t.Errorf("faults = %v", faults)
	}
	survivor, uncovered := found[2], found[5]
	survivor.Status = statusLived
	want := row{
		Package: "p", Mutants: 6, Covered: 5, Equivalent: 1, Drawn: 4, NotViable: 1, Killed: 1, TimedOut: 1, Lived: 1,
		Survivors: []mutant{survivor}, Uncovered: []mutant{uncovered},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("counted %+v\nwant %+v", r, want)
	}
	drawn["a.go"][7] = true
	if faults := new(row).countKilled(all, drawn, results); len(faults) != 1 {
		t.Errorf("a drawn mutant that gremlins skipped makes the faults %v, want one", faults)
	}
	delete(drawn["a.go"], 7)
	results[4].Status = statusKilled
	if faults := new(row).countKilled(all, drawn, results); len(faults) != 1 {
		t.Errorf("an equivalent mutant that a test kills makes the faults %v, want one", faults)
	}
	for _, tt := range []struct {
		covered, killed float64
		onlyCover       bool
		want            int
	}{{83.3, 50, false, 0}, {83.4, 50, false, 1}, {83.4, 50.1, false, 2}, {83.4, 50.1, true, 1}} {
		if faults := r.below(plan{covered: tt.covered, killed: tt.killed, onlyCover: tt.onlyCover}); len(faults) != tt.want {
			t.Errorf("thresholds of %g and %g %% give %v, want %d errors", tt.covered, tt.killed, faults, tt.want)
		}
	}
}

// TestSurvivorsAreReportedAtOnce passes gremlins' output in pieces.
func TestSurvivorsAreReportedAtOnce(t *testing.T) {
	var got strings.Builder
	w := newSurvivors(&got, "a/b", []mutant{{File: "x.go", Line: 7, Column: 3, Mutator: "A", equivalent: true}, {File: "x.go", Line: 7, Column: 2, Mutator: "A"}})
	for _, tt := range []struct{ piece, want string }{
		{"Starting...\n       LIVED A at x.go:7:2\n       LIVED A at x.go:7:3\n      KILLED A", "a/b/x.go:7:2: LIVED A\n"},
		{" at x.go:8:1\n   TIMED OUT B at x.go:9:1\n       LIV", ""},
		{"ED C at y.go:1:1\n       LIVED D at y.go:2:1\nMutation testing completed\n", "a/b/y.go:1:1: LIVED C\na/b/y.go:2:1: LIVED D\n"},
	} {
		got.Reset()
		if n, err := io.WriteString(w, tt.piece); n != len(tt.piece) || err != nil || got.String() != tt.want {
			t.Errorf("the survivors of %q are %q (%d bytes, %v), want %q", tt.piece, got.String(), n, err, tt.want)
		}
	}
}

func TestParseReport(t *testing.T) {
	const text = `{"files": [{"file_name": "b.go", "mutations": [{"type": "A", "status": "LIVED", "line": 7, "column": 2},
		{"type": "A", "status": "KILLED", "line": 7, "column": 1}]}, {"file_name": "a.go", "mutations": [{"type": "B", "status": "SKIPPED", "line": 9, "column": 3}]}]}`
	got, err := parseReport([]byte(text))
	want := []mutant{
		{File: "a.go", Line: 9, Column: 3, Mutator: "B", Status: statusSkipped},
		{File: "b.go", Line: 7, Column: 1, Mutator: "A", Status: statusKilled},
		{File: "b.go", Line: 7, Column: 2, Mutator: "A", Status: statusLived},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the report is read as %+v, %v; want %+v", got, err, want)
	}
	if _, err := parseReport([]byte("{")); err == nil {
		t.Error("half a report is accepted")
	}
}

func TestTestLimit(t *testing.T) {
	for _, tt := range []struct {
		least, took time.Duration
		want        time.Duration
		coefficient int
	}{{10 * time.Second, time.Second, 10 * time.Second, 10}, {10 * time.Second, 2100 * time.Millisecond, 10500 * time.Millisecond, 11}, {1500 * time.Millisecond, 0, 1500 * time.Millisecond, 2}} {
		if got := testLimit(tt.least, tt.took); got != tt.want || coefficient(got) != tt.coefficient {
			t.Errorf("tests that take %s may run %s, with coefficient %d; want %s and %d", tt.took, got, coefficient(got), tt.want, tt.coefficient)
		}
	}
}

// TestBudget runs packages that take as long as expected, or three times as long.
func TestBudget(t *testing.T) {
	of := func(dir string, runnable int, took time.Duration) task {
		return task{dir: dir, took: took, mutants: slices.Repeat([]mutant{{Status: statusRunnable}, {Status: statusUncovered}}, runnable)}
	}
	for _, tt := range []struct {
		why    string
		limit  time.Duration
		slower time.Duration // factor
		want   map[string]int
	}{
		{"enough time for all", 10 * time.Hour, 1, map[string]int{"few": 200, "quick": 200, "slow": 200, "slowest": 200}},
		{"a share for slow packages", time.Hour, 1, map[string]int{"few": 171, "quick": 200, "slow": 159, "slowest": 107}},
		{"slower than expected", time.Hour, 3, map[string]int{"few": 171, "quick": 200, "slow": 45, "slowest": 31}},
		{"little time", time.Second, 1, map[string]int{"few": 15, "quick": 15, "slow": 15, "slowest": 15}},
	} {
		now := time.Now()
		b := newBudget(plan{limit: 200, least: 15, workers: 2, time: tt.limit}, now)
		tasks := []task{of("slowest", 500, 29*time.Second), of("slow", 500, 19*time.Second), of("quick", 500, time.Second), of("few", 5, 9*time.Second)}
		b.order(tasks)
		got := make(map[string]int)
		for i, x := range tasks {
			got[x.dir] = b.draw(x, now, len(tasks)-i)
			n := min(got[x.dir], x.runnable())
			spent := tt.slower * time.Duration(n) * (x.took + compileTime) / 2
			b.took(x, n, spent)
			now = now.Add(spent)
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: draws %v, want %v", tt.why, got, tt.want)
		}
		if over := now.Sub(b.end); over > 0 && tt.limit > time.Minute {
			t.Errorf("%s: the packages take %v too long", tt.why, over)
		}
	}
}

func TestDoesNotBuild(t *testing.T) {
	for text, want := range map[string]bool{
		"# p\n./a.go:1:2: mismatched types\nFAIL\tp [build failed]\nFAIL\n":               true,
		"--- FAIL: TestA (0.00s)\n    a_test.go:3: [build failed]\nFAIL\nFAIL\tp\t0.1s\n": false,
		"ok  \tp\t0.1s\n": false,
	} {
		if got := doesNotBuild([]byte(text)); got != want {
			t.Errorf("doesNotBuild(%q) = %v", text, got)
		}
	}
}

// TestShimPassesTestFlags expects the flags and the time limit for the tests in commands that run them, and in no others. A
// coverage run leaves out the packages below, which may not know the flags.
func TestShimPassesTestFlags(t *testing.T) {
	t.Setenv(flagsVariable, " -a=1  -b")
	t.Setenv(limitVariable, "7s")
	said := filepath.Join(t.TempDir(), "said")
	script := write(t, filepath.Join(t.TempDir(), "go"), "#!/bin/sh\necho \"$@\" >> "+said+"\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(goVariable, script)
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module m\n")
	t.Chdir(module)
	profile := write(t, filepath.Join(t.TempDir(), "profile"), "mode: set\n")
	t.Setenv(keepVariable, filepath.Join(t.TempDir(), "kept"))
	for _, args := range [][]string{{"test", "-timeout", "9m", "-failfast", "./p"}, {"list", "-timeout", "9m", "./p/..."}, {"test", "-coverprofile", profile, "./p/..."}} {
		if code := shim(args); code != 0 {
			t.Errorf("shim(%q) = %d", args, code)
		}
	}
	got, err := os.ReadFile(said)
	if want := "test -timeout 7s -failfast ./p -a=1 -b\nlist -timeout 9m ./p/...\ntest -coverprofile " + profile + " ./p -a=1 -b\n"; err != nil || string(got) != want {
		t.Errorf("the Go command ran with\n%s, %v; want\n%s", got, err, want)
	}
}

// TestCopyTree expects the copy to leave out files that git ignores.
func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{".gitignore": "*.out\n", "a/b.go": "package a\n", "new.go": "package m\n", "x.out": "x"} {
		write(t, filepath.Join(from, name), text)
	}
	clean := []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "a"}} {
		if _, err := output(t.Context(), from, clean, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	err := filepath.WalkDir(to, func(name string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(to, name); err == nil && !d.IsDir() {
			got[filepath.ToSlash(rel)] = true
		}
		return err
	})
	if want := []string{".gitignore", "a/b.go", "new.go"}; err != nil || !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
		t.Errorf("the copy has %v, %v; want %v", got, err, want)
	}
}

func TestRunOutOfTime(t *testing.T) {
	list := write(t, filepath.Join(t.TempDir(), "list.yaml"), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, plan{equivalent: list, time: time.Hour}, io.Discard); err == nil {
		t.Error("a run whose context has ended returns no error")
	}
}
