package ads

import (
	"testing"
	"time"
)

// TestPace checks when a list of names may be sent, with one microsecond a name.
func TestPace(t *testing.T) {
	const us = time.Microsecond
	start := time.Unix(1000, 0)
	at := start.Add
	for name, c := range map[string]struct {
		events func(p *pace)
		names  int
		now    time.Duration
		want   bool
	}{
		"nothing was sent":                      {func(*pace) {}, 1, 0, true},
		"the pause":                             {func(p *pace) { p.sent(100, true, at(0)) }, 100, 100*us - 1, false},
		"the end of the pause":                  {func(p *pace) { p.sent(100, true, at(0)) }, 100, 100 * us, true},
		"names were dropped":                    {func(p *pace) { p.sent(100, false, at(0)) }, 100, 0, true},
		"an answer, with credit for the list":   {func(p *pace) { p.sent(100, true, at(0)); p.received(at(us)) }, maxCredit - 99, us, true},
		"an answer, without credit":             {func(p *pace) { p.sent(100, true, at(0)); p.received(at(0)) }, maxCredit - 99, 0, false},
		"an answer before half of the pause":    {func(p *pace) { p.sent(1000, true, at(0)); p.received(at(400 * us)) }, maxCredit, 800 * us, true},
		"as long as the server took":            {func(p *pace) { p.sent(1000, true, at(0)); p.received(at(400 * us)) }, maxCredit, 800*us - 1, false},
		"an answer at once":                     {func(p *pace) { p.sent(1000, true, at(0)); p.received(at(us)) }, maxCredit, 201 * us, true},
		"at least a fifth of the pause":         {func(p *pace) { p.sent(1000, true, at(0)); p.received(at(us)) }, maxCredit, 201*us - 1, false},
		"a late answer does not extend a pause": {func(p *pace) { p.sent(1000, true, at(0)); p.received(at(900 * us)) }, maxCredit, 1000 * us, true},
		"only the first answer counts":          {func(p *pace) { p.sent(1000, true, at(0)); p.received(at(us)); p.received(at(2 * us)) }, maxCredit, 201 * us, true},
		"dropped names use credit":              {func(p *pace) { p.sent(1, true, at(0)); p.received(at(0)); p.sent(maxCredit, false, at(0)) }, 2, 1, false},
		"credit comes back":                     {func(p *pace) { p.sent(maxCredit, true, at(0)); p.received(at(0)) }, 1000, 1000 * us, true},
		"not more than was used":                {func(p *pace) { p.sent(10*maxCredit, true, at(0)); p.received(at(0)) }, 1000, 1000 * us, true},
		"too large a list":                      {func(p *pace) { p.sent(maxCredit+1, true, at(0)); p.received(at(0)) }, maxCredit + 1, us, false},
		"another stream":                        {func(p *pace) { p.sent(maxCredit, true, at(0)); p.reset() }, maxCredit, 0, true},
	} {
		p := pace{perName: us}
		c.events(&p)
		if got := p.permits(c.names, at(c.now)); got != c.want {
			t.Errorf("%s: %d names after %v: %t, want %t", name, c.names, c.now, got, c.want)
		}
	}
}

// TestPaceOfASequence simulates 1,500 watches, each after the value of the last. They must take at most 1.4
// times as long as without a pace, if the server takes at least 2.5 µs a name.
func TestPaceOfASequence(t *testing.T) {
	const watches = 1500
	for name, took := range map[string]func(names int) time.Duration{
		"2.5 µs a name":          func(n int) time.Duration { return time.Duration(n) * 2500 },
		"10 µs a name":           func(n int) time.Duration { return time.Duration(n) * 10_000 },
		"1 ms and 2.5 µs a name": func(n int) time.Duration { return time.Millisecond + time.Duration(n)*2500 },
		"4 ms":                   func(int) time.Duration { return 4 * time.Millisecond },
	} {
		p := pace{perName: Config{}.withDefaults().PausePerName}
		now := time.Unix(1000, 0)
		start, server := now, time.Duration(0)
		for n := 1; n <= watches; n++ {
			if !p.permits(n, now) {
				now = p.newUntil
			}
			p.sent(n, true, now)
			server += took(n)
			now = now.Add(took(n))
			p.received(now)
		}
		if ratio := float64(now.Sub(start)) / float64(server); ratio > 1.4 {
			t.Errorf("a server of %s: %d watches take %v, %.2f times as long as the server; want at most 1.4", name, watches, now.Sub(start), ratio)
		}
	}
}

// TestPaceOfDrops expects that no answer shortens the pause before a request that only drops names.
func TestPaceOfDrops(t *testing.T) {
	p, now := pace{perName: time.Microsecond}, time.Unix(1000, 0)
	p.sent(100, true, now)
	p.received(now)
	if p.permitsEnd(now.Add(99*time.Microsecond)) || !p.permitsEnd(now.Add(100*time.Microsecond)) {
		t.Error("the pause of 100 names does not end after 100 µs")
	}
}

// TestPaceWithoutPause expects no pause, and no division by zero, if names have no pause.
func TestPaceWithoutPause(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	p.sent(1<<20, true, now)
	if !p.permits(1<<20, now) || !p.permitsEnd(now) {
		t.Error("a request waits without a pause")
	}
	p.received(now)
	if !p.permits(1<<20, now) {
		t.Error("a request waits after an answer")
	}
}

// TestPaceOfTheNextStream expects a stream to begin with all credit.
func TestPaceOfTheNextStream(t *testing.T) {
	s := newSotwNames(clusters, &Config{PausePerName: time.Microsecond})
	s.pace.sent(maxCredit, true, time.Unix(1000, 0))
	s.reset()
	if want := (pace{perName: time.Microsecond}); s.pace != want {
		t.Errorf("the pace is %+v, want %+v", s.pace, want)
	}
}
