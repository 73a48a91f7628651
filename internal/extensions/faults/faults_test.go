package faults

import (
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// drawing returns Faults whose random number in a million is n.
func drawing(t *testing.T, n uint32) *Faults {
	t.Helper()
	return &Faults{Random: func(below uint32) uint32 {
		if below != 1_000_000 {
			t.Errorf("a random number below %d is drawn, want one below a million", below)
		}
		return n
	}}
}

func TestChosen(t *testing.T) {
	for _, tt := range []struct {
		random, share uint32
		want          bool
	}{{0, 0, false}, {0, 1, true}, {1, 1, false}, {499_999, 500_000, true}, {500_000, 500_000, false}, {999_999, 1_000_000, true}} {
		if got := drawing(t, tt.random).Chosen(tt.share); got != tt.want {
			t.Errorf("the random number %d chooses with the share %d: %t, want %t", tt.random, tt.share, got, tt.want)
		}
	}
	never := &Faults{Random: func(uint32) uint32 { t.Error("a random number is drawn for the share 0"); return 0 }}
	if never.Chosen(0) {
		t.Error("the share 0 chooses a request")
	}
}

// TestBegin counts faults up to limits, which the configuration may change between requests.
func TestBegin(t *testing.T) {
	var f Faults
	limit := func(n uint32) *uint32 { return &n }
	for i, tt := range []struct {
		limit *uint32
		end   bool // before
		want  bool
	}{
		{limit: limit(0), want: false},
		{limit: limit(2), want: true},
		{limit: limit(2), want: true},
		{limit: limit(2), want: false},
		{limit: limit(3), want: true},
		{limit: nil, want: true},
		{limit: limit(4), want: false},
		{limit: limit(4), end: true, want: true},
		{limit: limit(4), want: false},
	} {
		if tt.end {
			f.End()
		}
		if got := f.Begin(tt.limit); got != tt.want {
			t.Errorf("fault %d begins: %t, want %t", i, got, tt.want)
		}
	}
}

func TestDelay(t *testing.T) {
	half := &fault.Delay{Duration: time.Minute, PerMillion: 500_000}
	headers := &fault.Delay{FromHeaders: true, PerMillion: 500_000, Unit: 10_000}
	for _, tt := range []struct {
		why                 string
		random              uint32
		delay               *fault.Delay
		values, percentages []string
		want                time.Duration
	}{
		{"no delay", 0, nil, []string{"7"}, nil, 0},
		{"drawn", 499_999, half, nil, nil, time.Minute},
		{"not drawn", 500_000, half, nil, nil, 0},
		{"headers have no effect", 499_999, half, []string{"7"}, []string{"1"}, time.Minute},
		{"headers", 499_999, headers, []string{"7"}, nil, 7 * time.Millisecond},
		{"headers, not drawn", 500_000, headers, []string{"7"}, nil, 0},
		{"no header", 0, headers, nil, nil, 0},
		{"no number", 0, headers, []string{"x"}, nil, 0},
		{"a lower share", 9_999, headers, []string{"7"}, []string{"1"}, 7 * time.Millisecond},
		{"a lower share, not drawn", 10_000, headers, []string{"7"}, []string{"1"}, 0},
		{"the longest", 0, headers, []string{"4294967295"}, nil, 4294967295 * time.Millisecond},
	} {
		if got := drawing(t, tt.random).Delay(tt.delay, tt.values, tt.percentages); got != tt.want {
			t.Errorf("%s: the delay is %v, want %v", tt.why, got, tt.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   uint32
		ok     bool
	}{
		{nil, 0, false},
		{[]string{"0"}, 0, true},
		{[]string{"x", "-1", "4294967296", "4294967295", "3"}, 4294967295, true},
		{[]string{"1.5", ""}, 0, false},
	} {
		if got, ok := Number(tt.values); got != tt.want || ok != tt.ok {
			t.Errorf("the number of %q is %d, %t; want %d, %t", tt.values, got, ok, tt.want, tt.ok)
		}
	}
}

func TestLower(t *testing.T) {
	for _, tt := range []struct {
		values      []string
		unit, share uint32
		want        uint32
	}{
		{nil, 100, 500, 500},
		{[]string{"4"}, 100, 500, 400},
		{[]string{"5"}, 100, 500, 500},
		{[]string{"6"}, 100, 500, 500},
		{[]string{"0"}, 100, 500, 0},
		{[]string{"4294967295"}, 10_000, 1_000_000, 1_000_000},
	} {
		if got := Lower(tt.values, tt.unit, tt.share); got != tt.want {
			t.Errorf("the share of %q in units of %d, up to %d, is %d; want %d", tt.values, tt.unit, tt.share, got, tt.want)
		}
	}
}
