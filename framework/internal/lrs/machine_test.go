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

// describe writes effects in the words that the tables use.
func describe(effects []lrs.Effect, now time.Time) string {
	var words []string
	for _, e := range effects {
		switch e := e.(type) {
		case lrs.Report:
			words = append(words, strings.TrimSpace(fmt.Sprintf("report all=%t %s", e.Scope.All, strings.Join(slices.Sorted(maps.Keys(e.Scope.Clusters)), ","))))
		case lrs.Truncated:
			words = append(words, fmt.Sprintf("truncated by %d", e.Ignored))
		case lrs.Bounded:
			words = append(words, fmt.Sprintf("bounded %v to %v", e.Asked, e.Used))
		case lrs.Lost:
			words = append(words, fmt.Sprintf("lost %v, again in %v", e.Err, e.RetryAt.Sub(now)))
		default:
			words = append(words, strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e), "lrs.")))
		}
	}
	return strings.Join(words, "; ")
}

// A step is an event after a pause, with what must come of it.
type step struct {
	after time.Duration
	event lrs.Event
	want  string
}

func run(t *testing.T, steps []step) *lrs.Machine {
	t.Helper()
	m := lrs.New(lrs.Config{Random: func() float64 { return 0.5 }})
	now := time.Unix(1e9, 0)
	for i, s := range steps {
		now = now.Add(s.after)
		if got := describe(m.Handle(s.event, now), now); got != s.want {
			t.Fatalf("step %d, %T: %q; must be %q", i, s.event, got, s.want)
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

func instructions(interval time.Duration, clusters ...string) lrs.Received {
	return lrs.Received{Instructions: lrs.Instructions{
		Scope:    load.Scope{All: len(clusters) == 0, Clusters: set(clusters...)},
		Interval: interval,
	}}
}

const sec = time.Second

// opened is how every stream begins.
func opened(then ...step) []step {
	return append([]step{
		{0, lrs.Turn{}, ""}, // nothing to report: no stream
		{0, lrs.Want{Wanted: true}, "open"},
		{0, lrs.Opened{}, "greet"},
		{0, lrs.Written{}, ""},
		{9 * sec, lrs.Turn{}, ""}, // the server has not said yet what it wants
	}, then...)
}

func TestReports(t *testing.T) {
	run(t, opened(
		step{0, instructions(5 * sec), ""},
		step{5*sec - 1, lrs.Turn{}, ""},
		step{1, lrs.Turn{}, "report all=true"},
		step{5 * sec, lrs.Turn{}, ""}, // the last one has not left
		step{1 * sec, lrs.Written{}, "report all=true"},
		step{0, lrs.Written{}, ""},
		step{2 * sec, instructions(5*sec, "a", "b"), ""}, // the period goes on
		step{3 * sec, lrs.Turn{}, "report all=false a,b"},
		step{0, lrs.Written{}, ""},
		step{3 * sec, instructions(2*sec, "c"), "report all=false c"}, // shorter: it is over
	))
}

func TestIntervalsAreBounded(t *testing.T) {
	run(t, opened(
		step{0, instructions(time.Millisecond), "bounded 1ms to 1s"},
		step{sec - 1, lrs.Turn{}, ""},
		step{1, lrs.Turn{}, "report all=true"},
		step{0, instructions(time.Millisecond), ""}, // said already
		step{0, instructions(-sec), ""},
		step{0, instructions(48 * time.Hour), "bounded 48h0m0s to 1h0m0s"},
		step{0, lrs.Written{}, ""},
		step{time.Hour - 1, lrs.Turn{}, ""},
		step{1, lrs.Turn{}, "report all=true"},
	))
}

// Unusable instructions are reported once a stream, even if the server keeps changing them.
func TestUnusableInstructionsAreToldOnce(t *testing.T) {
	truncated := func(interval time.Duration) lrs.Received {
		in := instructions(interval, "a")
		in.Instructions.Ignored = 3
		return in
	}
	run(t, opened(
		step{0, truncated(time.Millisecond), "bounded 1ms to 1s; truncated by 3"},
		step{0, truncated(48 * time.Hour), "bounded 48h0m0s to 1h0m0s"},
		step{0, truncated(time.Millisecond), ""},
		step{0, truncated(48 * time.Hour), ""},
		step{0, lrs.Closed{}, "lost <nil>, again in 1s"},
		step{sec, lrs.Turn{}, "open"},
		step{0, lrs.Opened{}, "greet"},
		step{0, lrs.Written{}, ""},
		step{0, truncated(sec), "truncated by 3"},
	))
}

func TestBackoff(t *testing.T) {
	run(t, opened(
		step{0, lrs.Closed{Err: errNetwork}, "lost connection refused, again in 1s"},
		step{sec - 1, lrs.Turn{}, ""},
		step{1, lrs.Turn{}, "open"},
		step{0, lrs.Closed{}, "lost the server closed the stream without any response, again in 1.6s"},
		step{1600 * time.Millisecond, lrs.Turn{}, "open"},
		step{0, lrs.Opened{}, "greet"},
		step{0, instructions(sec), ""},
		// A response makes the end no error, and backoff starts over.
		step{0, lrs.Closed{Err: errNetwork}, "lost <nil>, again in 1s"},
		step{sec, lrs.Turn{}, "open"},
		step{0, lrs.Opened{}, "greet"},
		step{0, lrs.Written{}, ""},
		step{9 * sec, lrs.Turn{}, ""}, // instructions are those of a stream
		step{0, lrs.Closed{Err: errNetwork}, "lost connection refused, again in 1s"},
	))
}

func TestBackoffIsThatOfTheConfig(t *testing.T) {
	backoff := ads.Backoff{Base: 20 * sec, Max: time.Hour, Factor: 2}
	now := time.Unix(1e9, 0)
	for want, c := range map[time.Duration]lrs.Config{20 * sec: {Backoff: backoff}, sec: {}} {
		c.Random = func() float64 { return 0.5 }
		m := lrs.New(c)
		m.Handle(lrs.Want{Wanted: true}, now)
		if got := describe(m.Handle(lrs.Closed{Err: errNetwork}, now), now); got != fmt.Sprintf("lost connection refused, again in %v", want) {
			t.Errorf("with the backoff %+v: %q; want it again in %v", c.Backoff, got, want)
		}
	}
}

func TestServerWithoutLRSIsLeftAlone(t *testing.T) {
	run(t, opened(
		step{0, lrs.Closed{Err: errNetwork, Unimplemented: true}, "lost connection refused, again in 1h0m0s"},
		step{30 * time.Minute, lrs.Want{}, ""},
		step{0, lrs.Want{Wanted: true}, ""}, // wanted again: the pause stays
		step{30*time.Minute - 1, lrs.Turn{}, ""},
		step{1, lrs.Turn{}, "open"},
	))
}

func TestAStreamLingersAfterTheLastReport(t *testing.T) {
	run(t, opened(
		step{0, instructions(5 * sec), ""},
		step{5 * sec, lrs.Turn{}, "report all=true"},
		step{0, lrs.Written{}, ""},
		step{0, lrs.Want{}, ""},
		step{59 * sec, lrs.Want{Wanted: true}, ""}, // on the same stream; a period begins
		step{5*sec - 1, lrs.Turn{}, ""},
		step{1, lrs.Turn{}, "report all=true"},
		step{0, lrs.Written{}, ""},
		step{0, lrs.Want{}, ""},
		step{time.Minute - 1, lrs.Turn{}, ""},
		step{1, lrs.Turn{}, "idle"},
		step{time.Hour, lrs.Turn{}, ""},
		step{0, lrs.Want{Wanted: true}, "open"},
	))
	m := run(t, opened(
		step{0, lrs.Closed{Err: errNetwork}, "lost connection refused, again in 1s"},
		step{0, lrs.Want{}, ""},
		step{sec, lrs.Turn{}, "idle"},
	))
	if at, ok := m.NextDeadline(); ok {
		t.Errorf("a machine without anything to do wants to be woken at %v", at)
	}
}

func TestDeadlinesAreWhenSomethingHappens(t *testing.T) {
	m := lrs.New(lrs.Config{})
	now := time.Unix(1e9, 0)
	events := []lrs.Event{lrs.Want{Wanted: true}, lrs.Opened{}, lrs.Written{}, instructions(5 * sec)}
	for _, ev := range events {
		if at, ok := m.NextDeadline(); ok {
			t.Fatalf("before %T: to be woken at %v, although only the server can go on", ev, at)
		}
		m.Handle(ev, now)
	}
	if at, ok := m.NextDeadline(); !ok || !at.Equal(now.Add(5*sec)) {
		t.Errorf("NextDeadline = %v, %t; must be the end of the period", at, ok)
	}
}
