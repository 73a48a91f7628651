package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An engine runs gremlins on a copy of the module.
type engine struct {
	plan        plan
	temp        string // holds everything below
	copy        string // of the module
	gremlins    string // the command
	commit      string
	environment []string
}

func newEngine(ctx context.Context, p plan) (_ *engine, err error) {
	temp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	e := &engine{plan: p, temp: temp, copy: filepath.Join(temp, "module")}
	defer func() {
		if err != nil {
			_ = e.close()
		}
	}()
	commit, err := output(ctx, ".", nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	e.commit = strings.TrimSpace(commit)
	if err := copyTree(ctx, ".", e.copy); err != nil {
		return nil, err
	}
	bin, scratch := filepath.Join(temp, "bin"), filepath.Join(temp, "tmp")
	for _, dir := range []string{bin, scratch} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if _, err := output(ctx, ".", []string{"GOBIN=" + temp, "GOFLAGS="}, "go", "install", p.gremlins); err != nil {
		return nil, err
	}
	e.gremlins = filepath.Join(temp, "gremlins")
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.Symlink(self, filepath.Join(bin, shimName)); err != nil {
		return nil, err
	}
	command, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	e.environment = []string{
		goVariable + "=" + command,
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"TMPDIR=" + scratch,
		// Results are never cached, and packages in copies of the module are compiled once.
		"GOFLAGS=-count=1 -vet=off -buildvcs=false -trimpath",
	}
	return e, nil
}

func (e *engine) close() error { return os.RemoveAll(e.temp) }

// measured is a template of go list: the folder of a package, or nothing for one of test helpers.
const measured = `{{$helpers := false}}{{range .Imports}}{{if eq . "testing"}}{{$helpers = true}}{{end}}{{end}}{{if not $helpers}}{{.Dir}}{{end}}`

// packages returns the folders of the packages that match, from the root of the module. It
// passes over test helpers, which are packages that import testing: they fail a test of
// another package and have no result that their own tests could check.
func (e *engine) packages(ctx context.Context, patterns []string) ([]string, error) {
	list, err := output(ctx, e.copy, e.environment, "go", append([]string{"list", "-f", measured, "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for dir := range strings.Lines(list) {
		if strings.TrimSpace(dir) == "" {
			continue
		}
		rel, err := filepath.Rel(e.copy, strings.TrimSpace(dir))
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, filepath.ToSlash(rel))
	}
	return dirs, nil
}

// A task is a package whose mutants are known.
type task struct {
	dir     string
	mutants []mutant      // with whether the tests reach them
	took    time.Duration // by the tests without a mutant, once their dependencies are compiled
	profile string        // file of the coverage profile
	seconds float64       // of the search
}

// runnable returns the number of mutants that the tests reach.
func (t *task) runnable() (n int) {
	for _, m := range t.mutants {
		if m.Status == statusRunnable {
			n++
		}
	}
	return n
}

// find finds all mutants of a package. The tests must pass without a mutant.
func (e *engine) find(ctx context.Context, dir string) (task, error) {
	t := task{dir: dir, profile: filepath.Join(e.temp, "profile "+strings.ReplaceAll(dir, "/", " "))}
	search := time.Now()
	for range 2 { // the first one compiles the tests' dependencies
		begin := time.Now()
		if _, err := output(ctx, e.copy, e.environment, "go", append([]string{"test", "./" + dir}, testFlags(dir)...)...); err != nil {
			return task{}, fmt.Errorf("the tests fail without a mutant: %w", err)
		}
		t.took = time.Since(begin)
	}
	var err error
	if t.mutants, err = e.unleash(ctx, io.Discard, dir, []string{keepVariable + "=" + t.profile}, "--dry-run"); err != nil {
		return task{}, err
	}
	t.seconds = time.Since(search).Seconds()
	return t, locate(filepath.Join(e.copy, dir), t.mutants)
}

// kill runs the mutants of the drawn lines, and returns all mutants of the package. Survivors that are
// not equivalent are printed at once.
func (e *engine) kill(ctx context.Context, t task, drawn map[string]map[int]bool) (_ []mutant, err error) {
	store, err := os.MkdirTemp(e.temp, "draw-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(store) }()
	r, err := newDrawRepository(ctx, store, filepath.Join(e.copy, t.dir), drawn)
	if err != nil {
		return nil, err
	}
	limit := testLimit(e.plan.timeout, t.took)
	environment := slices.Concat(r.environment, []string{keptVariable + "=" + t.profile, limitVariable + "=" + limit.String()})
	return e.unleash(ctx, newSurvivors(e.plan.progress, t.dir, t.mutants), t.dir, environment, "--diff=HEAD",
		fmt.Sprintf("--workers=%d", e.plan.workers),
		fmt.Sprintf("--timeout-coefficient=%d", coefficient(limit+compileLimit)))
}

// compileLimit is the time that the tests of one mutant get in addition to their own limit, for the compiler and for
// a busy machine.
const compileLimit = 5 * time.Minute

// testLimit is the time that the tests of a mutant may run.
func testLimit(least, took time.Duration) time.Duration {
	const times = 5
	return max(least, times*took)
}

// coefficient returns the number by which gremlins multiplies the time of the coverage run, which is coverageTime, for
// a limit.
func coefficient(limit time.Duration) int {
	return int(math.Ceil(limit.Seconds() / coverageTime.Seconds()))
}

// unleash runs gremlins on one package. It copies the output to progress, and returns the mutants in
// the order of files.
func (e *engine) unleash(ctx context.Context, progress io.Writer, dir string, environment []string, args ...string) ([]mutant, error) {
	report := filepath.Join(e.temp, "report.json")
	if err := os.RemoveAll(report); err != nil {
		return nil, err
	}
	args = append([]string{"unleash", "--exclude-files=/", `--exclude-files=\.gen\.go$`, "--output=" + report}, args...)
	environment = slices.Concat(e.environment, environment, []string{flagsVariable + "=" + strings.Join(testFlags(dir), " ")})
	if _, err := outputTo(ctx, progress, filepath.Join(e.copy, dir), environment, e.gremlins, args...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(report)
	if os.IsNotExist(err) {
		return nil, nil // gremlins writes nothing if a package has no mutants
	}
	if err != nil {
		return nil, err
	}
	return parseReport(text)
}

// parseReport reads the mutants from gremlins' report.
func parseReport(text []byte) ([]mutant, error) {
	var report struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
				Line   int    `json:"line"`
				Column int    `json:"column"`
			} `json:"mutations"`
		} `json:"files"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("report of gremlins: %w", err)
	}
	var mutants []mutant
	for _, f := range report.Files {
		for _, m := range f.Mutations {
			mutants = append(mutants, mutant{File: f.Name, Line: m.Line, Column: m.Column, Mutator: m.Type, Status: m.Status})
		}
	}
	slices.SortFunc(mutants, compareMutants)
	return mutants, nil
}
