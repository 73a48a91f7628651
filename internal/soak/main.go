// Command soak runs a client for a long time against control planes whose resources
// change constantly, over a network with faults. There are three servers and four
// authorities, one of which has a fallback server. Both protocol variants are used.
//
// From time to time the changes pause. At each rest, every watcher and the cache must
// have the newest resources of the control planes. Neither goroutines nor memory may
// have grown since the first rests. The command prints its measurements. It exits with 1
// if a check fails.
//
//	go run ./internal/soak -time 5m
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// A plan is the configuration of a run.
type plan struct {
	time      time.Duration // of churn
	resources int           // of all authorities and types
	churn     int           // resources that change at a time
	every     time.Duration // between changes
	breaks    time.Duration // between disconnections
	rests     time.Duration // between rests
	patience  time.Duration // the limit for delivering all updates at a rest
}

func main() {
	p := plan{every: 100 * time.Millisecond, breaks: time.Second, patience: 30 * time.Second}
	flag.DurationVar(&p.time, "time", 5*time.Minute, "duration of the run")
	flag.IntVar(&p.resources, "resources", 10_000, "number of resources; 1 % of them change every 100 ms")
	flag.DurationVar(&p.rests, "rests", 20*time.Second, "time between rests, at which the tool compares all resources")
	flag.Parse()
	p.churn = max(1, p.resources/100)
	process.Main("soak", func(ctx context.Context) error { return run(ctx, p, os.Stdout) })
}

// run executes a plan. The error describes the first failed check.
func run(ctx context.Context, p plan, out io.Writer) (err error) {
	w, err := newWorld(p.resources) //nolint:contextcheck // the control planes end with close
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := w.close(); err == nil {
			err = closeErr
		}
	}()
	var samples []sample
	rest := func() error {
		s, err := w.rest(ctx, p.patience)
		if err != nil {
			return err
		}
		samples = append(samples, s)
		_, err = fmt.Fprintln(out, s)
		return err
	}
	if err := rest(); err != nil {
		return fmt.Errorf("before anything has happened: %w", err)
	}
	changes, breaks, rests := time.NewTicker(p.every), time.NewTicker(p.breaks), time.NewTicker(p.rests)
	defer changes.Stop()
	defer breaks.Stop()
	defer rests.Stop()
	end, cancel := context.WithTimeout(ctx, p.time)
	defer cancel()
	for end.Err() == nil {
		var err error
		select {
		case <-changes.C:
			err = w.change(p.churn)
		case <-breaks.C:
			w.disturb()
		case <-rests.C:
			err = rest()
		case <-end.Done():
		}
		if err != nil {
			return err
		}
	}
	if err := rest(); err != nil {
		return err
	}
	return growth(samples)
}
