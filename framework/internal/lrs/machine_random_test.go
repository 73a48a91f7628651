package lrs_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/lrs"
)

// A stage gives a machine random events that can happen in reality. It checks the effects of the
// machine.
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
	ev := tick
	switch n := s.random.IntN(10); {
	case n == 0:
		s.wanted = !s.wanted
		ev = want(s.wanted)
	case n == 1 && (s.opening || s.open):
		s.opening, s.open, s.writing, s.greeted, s.instructed = false, false, false, false, false
		ev = closed(errNetwork, s.random.IntN(5) == 0)
	case n < 5 && s.opening:
		s.opening, s.open = false, true
		ev = streamOpened
	case n < 5 && s.writing:
		s.writing = false
		ev = streamWritten
	case n == 5 && s.open && s.greeted:
		s.instructed = true
		ev = received(instructions(time.Duration(s.random.IntN(10)) * sec))
	default:
		if at, ok := s.machine.NextDeadline(); ok {
			s.now = at
		} else if s.wanted && s.instructed && !s.writing {
			s.Error("a machine with something to report waits for nothing")
		}
	}
	ev(s.machine, s.now)
	s.check(s.machine.Ready())
}

func (s *stage) check(r lrs.Ready) {
	if e := r.StreamEnded; e != nil {
		s.retryAt = e.RetryAt
		if s.open || s.opening || !e.RetryAt.After(s.now) {
			s.Errorf("StreamEnded: open %t, again in %v", s.open || s.opening, e.RetryAt.Sub(s.now))
		}
	}
	if c := r.IntervalClamped; c != nil && c.Used < sec {
		s.Errorf("used %v", c.Used)
	}
	if r.Idle {
		if s.wanted || s.opening {
			s.Errorf("Idle: wanted %t, opening %t", s.wanted, s.opening)
		}
		s.open, s.writing, s.greeted, s.instructed = false, false, false, false
	}
	if r.Open {
		if s.opening || s.open || !s.wanted || s.now.Before(s.retryAt) {
			s.Errorf("Open: opening %t, open %t, wanted %t, to be tried again in %v", s.opening, s.open, s.wanted, s.retryAt.Sub(s.now))
		}
		s.opening = true
	}
	if r.SendNode {
		if !s.open || s.greeted || s.writing {
			s.Errorf("SendNode: open %t, greeted %t, writing %t", s.open, s.greeted, s.writing)
		}
		s.greeted, s.writing = true, true
	}
	if r.Report != nil {
		if !s.instructed || s.writing || !s.wanted {
			s.Errorf("Report: instructed %t, writing %t, wanted %t", s.instructed, s.writing, s.wanted)
		}
		s.writing = true
		s.reports++
	}
}
