package ads

import (
	"fmt"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	for what, pair := range map[string][2]any{
		"Backoff":         {c.Backoff, Backoff{Base: 1e9, Factor: 1.6, Jitter: 0.2, Max: 120e9}},
		"Repeat":          {c.Repeat, Backoff{Base: 15e9, Factor: 2, Jitter: 0.1, Max: 300e9}},
		"Rejected":        {c.Rejected, Backoff{Base: 100e6, Factor: 2, Max: 30e9}},
		"PausePerName":    {c.PausePerName, time.Duration(10_000)},
		"StabilityPeriod": {c.StabilityPeriod, time.Duration(1e9)},
		"Linger":          {c.Linger, time.Duration(60e9)},
		"Silence":         {c.Silence, time.Duration(5e9)},
		"Replay":          {c.Replay, time.Duration(15e9)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s = %v, want %v", what, pair[0], pair[1])
		}
	}
	for range 100 {
		if x := c.Random(); x < 0 || x >= 1 {
			t.Errorf("Random = %v, want it in [0, 1)", x)
		}
	}
	set := Config{
		Backoff:  Backoff{Base: 1, Factor: 1, Jitter: 1, Max: 1},
		Repeat:   Backoff{Base: 2, Factor: 3, Jitter: 0.5, Max: 4},
		Rejected: Backoff{Base: 5, Factor: 6, Max: 7}, PausePerName: 8, StabilityPeriod: 9, Linger: 10, Silence: 11, Replay: 12,
	}
	got := set.withDefaults()
	if got.Random = nil; fmt.Sprint(got) != fmt.Sprint(set) {
		t.Errorf("config = %v, want %v as it was set", got, set)
	}
}

func TestBackoffDelay(t *testing.T) {
	half := func() float64 { return 0.5 }
	for _, c := range []struct {
		backoff  Backoff
		failures int
		random   func() float64
		want     time.Duration
	}{
		{Backoff{}, 0, half, time.Second},
		{Backoff{}, 1, half, time.Second},
		{Backoff{}, 2, half, 1600 * time.Millisecond},
		{Backoff{}, 3, half, 2560 * time.Millisecond},
		{Backoff{}, 1000, half, 2 * time.Minute},
		{Backoff{Base: -1, Factor: 0.9, Max: -1}, 2, half, 1600 * time.Millisecond},
		{Backoff{Base: time.Hour}, 2, half, time.Hour}, // no Max below Base
		{Backoff{Base: 10, Factor: 1, Max: 100}, 9, half, 10},
		{Backoff{Base: 10, Factor: 2, Max: 100}, 4, half, 80},
		{Backoff{Base: 10, Factor: 2, Max: 80}, 4, half, 80},
		{Backoff{Base: 10, Factor: 2, Max: 79}, 4, half, 79},
		{Backoff{Base: 10, Factor: 2, Max: 100, Jitter: 0.5}, 1, func() float64 { return 0 }, 5},
		{Backoff{Base: 10, Factor: 2, Max: 100, Jitter: 0.5}, 1, func() float64 { return 0.75 }, 12},
		{Backoff{Base: 10, Factor: 2, Max: 100, Jitter: -1}, 1, func() float64 { return 0 }, 10},
		{Backoff{Base: 10, Factor: 2, Max: 100, Jitter: 2}, 1, func() float64 { return 0 }, 0},
	} {
		if got := c.backoff.Delay(c.failures, c.random); got != c.want {
			t.Errorf("%+v.Delay(%d) = %v, want %v", c.backoff, c.failures, got, c.want)
		}
	}
}

func TestJitterStaysWithinItsShareAndMax(t *testing.T) {
	b := DefaultBackoff
	if d := b.delay(1, func() float64 { return 0 }); d != 800*time.Millisecond {
		t.Errorf("least first delay = %v", d)
	}
	if d := b.delay(1, func() float64 { return 1 }); d != 1200*time.Millisecond {
		t.Errorf("greatest first delay = %v", d)
	}
	if d := b.delay(1000, func() float64 { return 1 }); d != 120*time.Second {
		t.Errorf("greatest delay = %v", d)
	}
}

func TestBackoffWithGapsIsNoHotLoop(t *testing.T) {
	half := func() float64 { return 0.5 }
	for _, b := range []struct {
		given  Backoff
		first  time.Duration
		second time.Duration
	}{
		{Backoff{}, time.Second, 1600 * time.Millisecond},
		{Backoff{Base: 2 * time.Second}, 2 * time.Second, 3200 * time.Millisecond},
		{Backoff{Max: time.Second}, time.Second, time.Second},
		{Backoff{Base: time.Hour, Factor: 2}, time.Hour, time.Hour},
		{Backoff{Base: -1, Factor: -1, Jitter: -1, Max: -1}, time.Second, 1600 * time.Millisecond},
		{Backoff{Jitter: 7}, time.Second, 1600 * time.Millisecond},
	} {
		got := Config{Backoff: b.given}.withDefaults().Backoff
		if got.delay(1, half) != b.first || got.delay(2, half) != b.second {
			t.Errorf("%+v: pauses %v and %v, want %v and %v", b.given, got.delay(1, half), got.delay(2, half), b.first, b.second)
		}
		if least := got.delay(1, func() float64 { return 0 }); least < 0 {
			t.Errorf("%+v: a pause of %v", b.given, least)
		}
	}
}
