package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMeasuredIsWhatIsConfigured(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, 2000); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"dropped: throttle", "near-2                    40.50 %", "spare-1                   75.00 %", "reported exactly"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestItEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, new(strings.Builder), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v; must be that of the context", err)
	}
}

// The check fails if a share deviates too much, and if a server without a share gets a request.
func TestCompare(t *testing.T) {
	want := map[string]float64{"a": 0.75, "b": 0.25, "c": 0}
	for name, tc := range map[string]struct {
		got map[string]uint64
		err string
	}{
		"exactly":        {map[string]uint64{"a": 7500, "b": 2500}, ""},
		"within":         {map[string]uint64{"a": 7300, "b": 2700}, ""},
		"too far":        {map[string]uint64{"a": 7250, "b": 2750}, "a got 72.50 %"},
		"a wrong weight": {map[string]uint64{"a": 5000, "b": 5000}, "b got 50.00 %"},
		"a down server":  {map[string]uint64{"a": 7500, "b": 2499, "c": 1}, "c got 0.01 %"},
		"an unknown one": {map[string]uint64{"a": 7500, "b": 2499, "d": 1}, "d got 0.01 %"},
	} {
		t.Run(name, func(t *testing.T) {
			err := compare(new(strings.Builder), want, tc.got, 10_000)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error = %v; must have %q", err, tc.err)
			}
		})
	}
}
