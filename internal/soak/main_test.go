package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/framework/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestShortRun(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), plan{
		time: 2 * time.Second, resources: 200, churn: 10,
		every: 10 * time.Millisecond, breaks: 100 * time.Millisecond, rests: 500 * time.Millisecond, patience: 20 * time.Second,
	}, &out)
	if err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if n := strings.Count(out.String(), "\n"); n < 3 {
		t.Errorf("%d samples:\n%s", n, out.String())
	}
}

func TestLostUpdateIsFound(t *testing.T) {
	w, err := newWorld(8)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.close() }()
	if _, err := w.rest(t.Context(), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	w.items[3].version++ // and nobody is told
	if _, err := w.rest(t.Context(), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "1 of 8 updates lost") {
		t.Errorf("error = %v, want one lost update", err)
	}
	w.items[3].version--
	w.items[5].notify(resource.Event[resource.Update]{Err: errors.New("trouble")})
	if _, err := w.rest(t.Context(), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("error = %v; want the error of a watcher", err)
	}
}

func TestGrowthIsFound(t *testing.T) {
	flat := func() []sample {
		s := make([]sample, 12)
		for i := range s {
			s[i] = sample{goroutines: 100, heap: 50 << 20}
		}
		return s
	}
	if err := growth(flat()); err != nil {
		t.Error(err)
	}
	more, bigger := flat(), flat()
	for i := range more {
		more[i].goroutines += 5 * i
		bigger[i].heap += uint64(i) << 21
	}
	if err := growth(more); err == nil || !strings.Contains(err.Error(), "goroutines") {
		t.Errorf("error = %v, want the growth of goroutines", err)
	}
	if err := growth(bigger); err == nil || !strings.Contains(err.Error(), "heap") {
		t.Errorf("error = %v, want the growth of the heap", err)
	}
}
