package lrs_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/lrs"
)

// A stage is a world that gives a machine events at random, but only such as can happen,
// and checks that what the machine does makes sense.
type stage struct {
	*testing.T
	random  *rand.Rand
	machine *lrs.Machine
	now     time.Time

	wanted, opening, open, writing, greeted, instructed bool

	retryAt time.Time // no stream is opened before
	reports int
}

func TestRandomEvents(t *testing.T) {
	reports := 0
	for seed := range uint64(200) {
		s := &stage{T: t, random: rand.New(rand.NewPCG(seed, 0)), machine: lrs.New(lrs.Config{}), now: time.Unix(1e9, 0)}
		for range 300 {
			s.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		reports += s.reports
	}
	if reports == 0 {
		t.Error("nothing was ever reported")
	}
}

// step lets something happen.
func (s *stage) step() {
	var ev lrs.Event = lrs.Turn{}
	switch n := s.random.IntN(10); {
	case n == 0:
		s.wanted = !s.wanted
		ev = lrs.Want{Wanted: s.wanted}
	case n == 1 && (s.opening || s.open):
		s.opening, s.open, s.writing, s.greeted, s.instructed = false, false, false, false, false
		ev = lrs.Closed{Err: errNetwork, Unimplemented: s.random.IntN(5) == 0}
	case n < 5 && s.opening:
		s.opening, s.open = false, true
		ev = lrs.Opened{}
	case n < 5 && s.writing:
		s.writing = false
		ev = lrs.Written{}
	case n == 5 && s.open && s.greeted:
		s.instructed = true
		ev = instructions(time.Duration(s.random.IntN(10)) * sec)
	default:
		if at, ok := s.machine.NextDeadline(); ok {
			s.now = at
		} else if s.wanted && s.instructed && !s.writing {
			s.Error("a machine with something to report waits for nothing")
		}
	}
	for _, e := range s.machine.Handle(ev, s.now) {
		s.check(e)
	}
}

func (s *stage) check(e lrs.Effect) {
	switch e := e.(type) {
	case lrs.Open:
		if s.opening || s.open || !s.wanted || s.now.Before(s.retryAt) {
			s.Errorf("Open: opening %t, open %t, wanted %t, to be tried again in %v", s.opening, s.open, s.wanted, s.retryAt.Sub(s.now))
		}
		s.opening = true
	case lrs.Greet:
		if !s.open || s.greeted || s.writing {
			s.Errorf("Greet: open %t, greeted %t, writing %t", s.open, s.greeted, s.writing)
		}
		s.greeted, s.writing = true, true
	case lrs.Report:
		if !s.instructed || s.writing || !s.wanted {
			s.Errorf("Report: instructed %t, writing %t, wanted %t", s.instructed, s.writing, s.wanted)
		}
		s.writing = true
		s.reports++
	case lrs.Lost:
		s.retryAt = e.RetryAt
		if s.open || s.opening || !e.RetryAt.After(s.now) {
			s.Errorf("Lost: open %t, again in %v", s.open || s.opening, e.RetryAt.Sub(s.now))
		}
	case lrs.Idle:
		if s.wanted || s.opening {
			s.Errorf("Idle: wanted %t, opening %t", s.wanted, s.opening)
		}
		s.open, s.writing, s.greeted, s.instructed = false, false, false, false
	case lrs.Bounded:
		if e.Used < sec {
			s.Errorf("used %v", e.Used)
		}
	}
}
