package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// defaultPackages are the packages that decide: state machines, decoding, sources, hooks, HTTP filters
// and the parts of a channel and of a server.
func defaultPackages() []string {
	return []string{
		"./framework/xdstp", "./framework/bootstrap", "./registry",
		"./framework/transport/...", "./framework/internal/lrs", "./framework/load", "./framework/resource/...",
		"./framework/runtime/...", "./framework/matcher", "./framework/tlscontext", "./internal/envelope", "./internal/extensions/...",
		"./plugins/...", "./grpcxds/internal/...", "./grpcxds/httpfilter/...", "./internal/dataplane/...",
		"./framework/source/...", "./internal/adsserver",
		"./framework/internal/ads", "./framework/internal/authority", "./framework/internal/byname", "./framework/client",
	}
}

// testFlags returns flags for the tests of a package. The tests run once for each mutant, so they
// must take few seconds.
func testFlags(dir string) []string {
	switch dir {
	case "framework/client": // with each temperament
		return []string{"-model.sequences=300"}
	case "internal/adsserver": // of each model, in each variant of the protocol
		return []string{"-model.sequences=300", "-model.systems=300"}
	}
	return nil
}

// A plan holds the flags of a run.
type plan struct {
	gremlins   string // module path and version
	limit      int    // largest number of mutants of a package
	least      int    // the same if the time is short
	time       time.Duration
	timeout    time.Duration // least time that the tests of a mutant may run
	workers    int
	covered    float64 // least share of mutants that tests reach, in percent
	killed     float64 // least share of those that tests notice, in percent
	onlyCover  bool
	json       string
	equivalent string
	patterns   []string
	progress   io.Writer // for survivors as soon as they are known
}

func main() {
	if filepath.Base(os.Args[0]) == shimName {
		os.Exit(shim(os.Args[1:]))
	}
	p := parsePlan()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, p, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func parsePlan() plan {
	p := plan{progress: os.Stderr}
	flag.StringVar(&p.gremlins, "gremlins", "github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0", "the gremlins command, with its version")
	flag.IntVar(&p.limit, "limit", 200, "largest number of mutants that run for a package")
	flag.IntVar(&p.least, "least", 15, "largest number of mutants that run for a package if the time is short")
	flag.DurationVar(&p.time, "time", 90*time.Minute, "largest time of the whole run")
	flag.DurationVar(&p.timeout, "timeout", 10*time.Second, "least time that the tests of one mutant may run")
	flag.IntVar(&p.workers, "workers", runtime.NumCPU(), "mutants that run at the same time")
	flag.Float64Var(&p.covered, "covered", 90, "least percentage of mutants that the tests reach")
	flag.Float64Var(&p.killed, "killed", 92, "least percentage of the mutants reached that fail a test")
	flag.BoolVar(&p.onlyCover, "coverage", false, "only list which mutants the tests reach; run none")
	flag.StringVar(&p.json, "json", "", "file for the results, with every survivor")
	flag.StringVar(&p.equivalent, "equivalent", "internal/mutate/equivalent.yaml", "list of equivalent mutants")
	flag.Parse()
	if p.patterns = flag.Args(); len(p.patterns) == 0 {
		p.patterns = defaultPackages()
	}
	return p
}

// run measures the packages one after the other. It returns an error if a package is
// below a threshold.
func run(ctx context.Context, p plan, out io.Writer) (err error) {
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, p.time, fmt.Errorf("the time limit of %s is over", p.time))
	defer cancel()
	list, err := readEquivalents(p.equivalent)
	if err != nil {
		return err
	}
	e, err := newEngine(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	packages, err := e.packages(ctx, p.patterns)
	if err != nil {
		return err
	}
	tasks, faults := findAll(ctx, e, list, packages)
	rows, faultsOf := measureAll(ctx, e, p, begin, tasks)
	faults = append(faults, faultsOf...)
	slices.SortFunc(rows, func(a, b row) int { return slices.Index(packages, a.Package) - slices.Index(packages, b.Package) })
	for _, r := range rows {
		r.print(out, p.onlyCover)
	}
	printTable(out, rows)
	for _, r := range rows {
		faults = append(faults, r.below(p)...)
	}
	if ctx.Err() != nil {
		faults = append(faults, context.Cause(ctx))
	}
	if p.json != "" {
		faults = append(faults, writeJSON(p.json, rows))
	}
	return errors.Join(faults...)
}

// findAll finds the mutants of all packages. It leaves out packages without mutants.
func findAll(ctx context.Context, e *engine, list equivalents, packages []string) (tasks []task, faults []error) {
	for _, dir := range packages {
		if ctx.Err() != nil {
			break
		}
		t, err := e.find(ctx, dir)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", dir, err))
			continue
		}
		faults = append(faults, list.of(dir).mark(t.mutants)...)
		if len(t.mutants) > 0 {
			tasks = append(tasks, t)
		}
	}
	return tasks, faults
}

// measureAll runs mutants of one package after the other, cheap packages first.
func measureAll(ctx context.Context, e *engine, p plan, begin time.Time, tasks []task) (rows []row, faults []error) {
	b := newBudget(p, begin)
	b.order(tasks)
	for i, t := range tasks {
		if ctx.Err() != nil {
			break
		}
		r, faultsOf, err := measure(ctx, e, p, b, t, len(tasks)-i)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", t.dir, err))
			continue
		}
		faults = append(faults, faultsOf...)
		if r.Mutants > 0 {
			rows = append(rows, r)
		}
	}
	return rows, faults
}

func writeJSON(name string, rows []row) error {
	text, err := json.MarshalIndent(rows, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o600)
}
