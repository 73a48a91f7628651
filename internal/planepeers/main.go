package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// stepTimeout is the limit of one step of a story.
const stepTimeout = 2 * time.Minute

func main() {
	process.Main("planepeers", func(ctx context.Context) error {
		rounds := flag.Int("rounds", 40, "number of rounds of the stories that repeat one")
		only := flag.String("only", "", "run only the stories whose names contain this text")
		verbose := flag.Bool("v", false, "print the time of each step of a story")
		flag.Parse()
		plane, ok := map[string]func(context.Context, string, options) error{"istio": runIstio, "gateway": runGateway}[flag.Arg(0)]
		if !ok || flag.NArg() != 1 || *rounds < 1 {
			return errors.New("usage: planepeers [-rounds N] [-only TEXT] [-v] istio|gateway")
		}
		dir, err := os.MkdirTemp("", "planepeers")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		return plane(ctx, dir, options{rounds: *rounds, only: *only, verbose: *verbose})
	})
}

type options struct {
	rounds  int
	only    string
	verbose bool
}

// A story is a part of a run. It returns what was seen.
type story struct {
	name string
	tell func(ctx context.Context) (seen string, err error)
}

// tellAll runs the stories and prints a line for each one.
func tellAll(ctx context.Context, o options, list []story) error {
	var failed []error
	for _, s := range list {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		start := time.Now()
		seen, err := s.tell(ctx)
		result := "ok: " + seen
		if err != nil {
			result = "failed: " + err.Error()
			failed = append(failed, fmt.Errorf("%s failed", s.name))
		}
		fmt.Printf("%-34s %s (%.1f s)\n", s.name, result, time.Since(start).Seconds())
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// until waits until a condition holds.
func until(ctx context.Context, about string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", about, ctx.Err())
		}
	}
	return nil
}
