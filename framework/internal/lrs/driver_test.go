package lrs_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
)

// TestScripts runs the exchanges in testdata. Each file documents some rules. "go test -run TestScripts
// -rewrite" writes the effects.
//
// A scenario is a subtest. It starts with a client. The lines before "----" are events, and the effects of
// each event follow. The network opens streams and takes messages at once. Events:
//
//	client                                     a new client
//	load, no_load                              there is load to report, or no longer
//	response interval=D clusters=(NAME, ...)   the server's response; without clusters, it wants all of them;
//	                                           ignored=N clusters were beyond the limit
//	closed [ERROR]                             the stream ended; the error "unimplemented" means an unknown method
//	stall, unstall                             the network opens no stream and takes no message in between
//	wait DURATION                              effects in this time start with "after"
//	deadline                                   prints when the machine has something to do
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var r *rig
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "client" {
				r = &rig{t: t, m: lrs.New(lrs.Config{Random: func() float64 { return 0.5 }}), now: time.Unix(1e9, 0)}
			}
			if r == nil || r.t.Name() != t.Name() {
				t.Fatalf("%s: each scenario starts with a client", d.Pos)
			}
			r.output.Reset()
			r.event(d.Cmd, d.CmdArgs)
			for line := range strings.SplitSeq(d.Input, "\n") {
				verb, args, err := datadriven.ParseLine(line)
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				r.event(verb, args)
			}
			return r.output.String()
		})
	})
}

// A rig runs one machine with a clock and a network of its own.
type rig struct {
	t   *testing.T
	m   *lrs.Machine
	now time.Time

	stalled bool    // the network opens no stream and takes no message
	pending []event // the answers of a stalled network

	prefix string // of lines of the output
	output strings.Builder
}

func (r *rig) event(verb string, args []datadriven.CmdArg) {
	r.t.Helper()
	switch verb {
	case "", "client":
	case "load", "no_load":
		r.handle(want(verb == "load"))
	case "response":
		r.handle(received(r.response(args)))
	case "closed":
		r.pending = nil
		var words []string
		for _, a := range args {
			words = append(words, a.Key)
		}
		var err error
		if len(words) > 0 {
			err = errors.New(strings.Join(words, " "))
		}
		r.handle(closed(err, slices.Contains(words, "unimplemented")))
	case "stall":
		r.stalled = true
	case "unstall":
		r.stalled = false
		r.deliver()
	case "wait":
		r.wait(r.duration(args[0].Key))
	case "deadline":
		if at, ok := r.m.NextDeadline(); ok {
			r.printf("deadline in %v", at.Sub(r.now))
		} else {
			r.printf("no deadline")
		}
	default:
		r.t.Fatalf("unknown event %s", verb)
	}
}

func (r *rig) duration(s string) time.Duration {
	r.t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func (r *rig) response(args []datadriven.CmdArg) lrs.Instructions {
	r.t.Helper()
	in := instructions(0)
	for _, a := range args {
		switch a.Key {
		case "interval":
			in.Interval = r.duration(a.Vals[0])
		case "clusters":
			in.ClusterFilter = load.ClusterFilter{Clusters: set(a.Vals...)}
		case "ignored":
			n, err := strconv.Atoi(a.Vals[0])
			if err != nil {
				r.t.Fatal(err)
			}
			in.Ignored = n
		}
	}
	return in
}

// wait lets time pass. The machine gets a Tick at each of its deadlines and at the end.
func (r *rig) wait(d time.Duration) {
	r.t.Helper()
	defer func() { r.prefix = "" }()
	start := r.now
	for range 1000 {
		at, ok := r.m.NextDeadline()
		if !ok || at.After(start.Add(d)) {
			r.now, r.prefix = start.Add(d), fmt.Sprintf("after %v: ", d)
			r.handle(tick)
			return
		}
		r.now, r.prefix = at, fmt.Sprintf("after %v: ", at.Sub(start))
		r.handle(tick)
		if next, ok := r.m.NextDeadline(); ok && !next.After(at) {
			r.t.Fatalf("the machine did nothing at its deadline, after %v", at.Sub(start))
		}
	}
	r.t.Fatal("the machine has a deadline all the time")
}

// handle reports an event to the machine, prints the effects, and lets the network carry them out.
func (r *rig) handle(ev event) {
	ev(r.m, r.now)
	ready := r.m.Ready()
	for _, line := range describe(ready, r.now) {
		r.printf("%s", line)
	}
	switch {
	case ready.Idle:
		r.pending = nil
	case ready.Open:
		r.pending = []event{streamOpened}
	case ready.SendNode, ready.Report != nil:
		r.pending = append(r.pending, streamWritten)
	}
	if !r.stalled {
		r.deliver()
	}
}

// deliver lets the network do the requested actions.
func (r *rig) deliver() {
	pending := r.pending
	r.pending = nil
	for _, ev := range pending {
		r.handle(ev)
	}
}

func (r *rig) printf(format string, args ...any) {
	fmt.Fprintf(&r.output, r.prefix+format+"\n", args...)
}

// describe returns the lines that a script prints for effects.
func describe(r lrs.Ready, now time.Time) (lines []string) {
	add := func(isSet bool, format string, args ...any) {
		if isSet {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	if e := r.StreamEnded; e != nil {
		reason := ""
		if e.Err != nil {
			reason = ": " + e.Err.Error()
		}
		add(true, "stream ended%s, retry in %v", reason, e.RetryAt.Sub(now))
	}
	if c := r.IntervalClamped; c != nil {
		add(true, "interval %v clamped to %v", c.Asked, c.Used)
	}
	add(r.Truncated > 0, "%d clusters ignored", r.Truncated)
	add(r.Idle, "idle")
	add(r.Open, "open")
	add(r.SendNode, "send node")
	if s := r.Report; s != nil {
		add(s.All, "send report of all clusters")
		add(!s.All, "send report of %v", slices.Sorted(maps.Keys(s.Clusters)))
	}
	return lines
}
