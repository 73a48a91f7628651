package lrs_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
)

var errNetwork = errors.New("connection refused")

// An event reports something to a machine.
type event func(m *lrs.Machine, now time.Time)

var (
	tick          event = (*lrs.Machine).Tick
	streamOpened  event = (*lrs.Machine).Opened
	streamWritten event = (*lrs.Machine).Written
)

func want(wanted bool) event {
	return func(m *lrs.Machine, now time.Time) { m.Want(wanted, now) }
}

func closed(err error, unimplemented bool) event {
	return func(m *lrs.Machine, now time.Time) { m.Closed(err, unimplemented, now) }
}

func received(in lrs.Instructions) event {
	return func(m *lrs.Machine, now time.Time) { m.Received(in, now) }
}

// describe writes effects in the words that the tables use.
func describe(r lrs.Ready, now time.Time) string {
	var words []string
	add := func(set bool, format string, args ...any) {
		if set {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	if e := r.StreamEnded; e != nil {
		add(true, "lost %v, again in %v", e.Err, e.RetryAt.Sub(now))
	}
	if c := r.IntervalClamped; c != nil {
		add(true, "bounded %v to %v", c.Asked, c.Used)
	}
	add(r.Truncated > 0, "truncated by %d", r.Truncated)
	add(r.Idle, "idle")
	add(r.Open, "open")
	add(r.SendNode, "greet")
	if s := r.Report; s != nil {
		add(true, "%s", strings.TrimSpace(fmt.Sprintf("report all=%t %s", s.All, strings.Join(slices.Sorted(maps.Keys(s.Clusters)), ","))))
	}
	return strings.Join(words, "; ")
}

// A step is an event after a pause, with what must come of it.
type step struct {
	after time.Duration
	event event
	want  string
}

func run(t *testing.T, steps []step) *lrs.Machine {
	t.Helper()
	m := lrs.New(lrs.Config{Random: func() float64 { return 0.5 }})
	now := time.Unix(1e9, 0)
	for i, s := range steps {
		now = now.Add(s.after)
		s.event(m, now)
		if got := describe(m.Ready(), now); got != s.want {
			t.Fatalf("step %d: %q; must be %q", i, got, s.want)
		}
	}
	return m
}

func set(names ...string) map[string]struct{} {
	s := make(map[string]struct{})
	for _, n := range names {
		s[n] = struct{}{}
	}
	return s
}

func instructions(interval time.Duration, clusters ...string) lrs.Instructions {
	return lrs.Instructions{
		Scope:    load.Scope{All: len(clusters) == 0, Clusters: set(clusters...)},
		Interval: interval,
	}
}

const sec = time.Second

// opened is how every stream begins.
func opened(then ...step) []step {
	return append([]step{
		{0, tick, ""}, // nothing to report: no stream
		{0, want(true), "open"},
		{0, streamOpened, "greet"},
		{0, streamWritten, ""},
		{9 * sec, tick, ""}, // the server has not said yet what it wants
	}, then...)
}

func TestReports(t *testing.T) {
	run(t, opened(
		step{0, received(instructions(5 * sec)), ""},
		step{5*sec - 1, tick, ""},
		step{1, tick, "report all=true"},
		step{5 * sec, tick, ""}, // the last one has not left
		step{1 * sec, streamWritten, "report all=true"},
		step{0, streamWritten, ""},
		step{2 * sec, received(instructions(5*sec, "a", "b")), ""}, // the period goes on
		step{3 * sec, tick, "report all=false a,b"},
		step{0, streamWritten, ""},
		step{3 * sec, received(instructions(2*sec, "c")), "report all=false c"}, // shorter: it is over
	))
}

func TestIntervalsAreBounded(t *testing.T) {
	run(t, opened(
		step{0, received(instructions(time.Millisecond)), "bounded 1ms to 1s"},
		step{sec - 1, tick, ""},
		step{1, tick, "report all=true"},
		step{0, received(instructions(time.Millisecond)), ""}, // said already
		step{0, received(instructions(-sec)), ""},
		step{0, received(instructions(48 * time.Hour)), "bounded 48h0m0s to 1h0m0s"},
		step{0, streamWritten, ""},
		step{time.Hour - 1, tick, ""},
		step{1, tick, "report all=true"},
	))
}

// Unusable instructions are reported once a stream, even if the server keeps changing them.
func TestUnusableInstructionsAreToldOnce(t *testing.T) {
	truncated := func(interval time.Duration) event {
		in := instructions(interval, "a")
		in.Ignored = 3
		return received(in)
	}
	run(t, opened(
		step{0, truncated(time.Millisecond), "bounded 1ms to 1s; truncated by 3"},
		step{0, truncated(48 * time.Hour), "bounded 48h0m0s to 1h0m0s"},
		step{0, truncated(time.Millisecond), ""},
		step{0, truncated(48 * time.Hour), ""},
		step{0, closed(nil, false), "lost <nil>, again in 1s"},
		step{sec, tick, "open"},
		step{0, streamOpened, "greet"},
		step{0, streamWritten, ""},
		step{0, truncated(sec), "truncated by 3"},
	))
}

func TestBackoff(t *testing.T) {
	run(t, opened(
		step{0, closed(errNetwork, false), "lost connection refused, again in 1s"},
		step{sec - 1, tick, ""},
		step{1, tick, "open"},
		step{0, closed(nil, false), "lost the server closed the stream without any response, again in 1.6s"},
		step{1600 * time.Millisecond, tick, "open"},
		step{0, streamOpened, "greet"},
		step{0, received(instructions(sec)), ""},
		// A response makes the end no error, and backoff starts over.
		step{0, closed(errNetwork, false), "lost <nil>, again in 1s"},
		step{sec, tick, "open"},
		step{0, streamOpened, "greet"},
		step{0, streamWritten, ""},
		step{9 * sec, tick, ""}, // instructions are those of a stream
		step{0, closed(errNetwork, false), "lost connection refused, again in 1s"},
	))
}

func TestBackoffIsThatOfTheConfig(t *testing.T) {
	backoff := ads.Backoff{Base: 20 * sec, Max: time.Hour, Factor: 2}
	now := time.Unix(1e9, 0)
	for want, c := range map[time.Duration]lrs.Config{20 * sec: {Backoff: backoff}, sec: {}} {
		c.Random = func() float64 { return 0.5 }
		m := lrs.New(c)
		m.Want(true, now)
		m.Ready()
		m.Closed(errNetwork, false, now)
		if got := describe(m.Ready(), now); got != fmt.Sprintf("lost connection refused, again in %v", want) {
			t.Errorf("with the backoff %+v: %q; want it again in %v", c.Backoff, got, want)
		}
	}
}

func TestServerWithoutLRSIsLeftAlone(t *testing.T) {
	run(t, opened(
		step{0, closed(errNetwork, true), "lost connection refused, again in 1h0m0s"},
		step{30 * time.Minute, want(false), ""},
		step{0, want(true), ""}, // wanted again: the pause stays
		step{30*time.Minute - 1, tick, ""},
		step{1, tick, "open"},
	))
}

func TestAStreamLingersAfterTheLastReport(t *testing.T) {
	run(t, opened(
		step{0, received(instructions(5 * sec)), ""},
		step{5 * sec, tick, "report all=true"},
		step{0, streamWritten, ""},
		step{0, want(false), ""},
		step{59 * sec, want(true), ""}, // on the same stream; a period begins
		step{5*sec - 1, tick, ""},
		step{1, tick, "report all=true"},
		step{0, streamWritten, ""},
		step{0, want(false), ""},
		step{time.Minute - 1, tick, ""},
		step{1, tick, "idle"},
		step{time.Hour, tick, ""},
		step{0, want(true), "open"},
	))
	m := run(t, opened(
		step{0, closed(errNetwork, false), "lost connection refused, again in 1s"},
		step{0, want(false), ""},
		step{sec, tick, "idle"},
	))
	if at, ok := m.NextDeadline(); ok {
		t.Errorf("a machine without anything to do wants to be woken at %v", at)
	}
}

func TestDeadlinesAreWhenSomethingHappens(t *testing.T) {
	m := lrs.New(lrs.Config{})
	now := time.Unix(1e9, 0)
	for i, ev := range []event{want(true), streamOpened, streamWritten, received(instructions(5 * sec))} {
		if at, ok := m.NextDeadline(); ok {
			t.Fatalf("before event %d: to be woken at %v, although only the server can go on", i, at)
		}
		ev(m, now)
	}
	if at, ok := m.NextDeadline(); !ok || !at.Equal(now.Add(5*sec)) {
		t.Errorf("NextDeadline = %v, %t; must be the end of the period", at, ok)
	}
}
