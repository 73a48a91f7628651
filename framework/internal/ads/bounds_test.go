package ads

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	for what, pair := range map[string][2]any{
		"Backoff":      {c.Backoff, Backoff{Base: 1e9, Factor: 1.6, Jitter: 0.2, Max: 120e9}},
		"Repeat":       {c.Repeat, Backoff{Base: 15e9, Factor: 2, Jitter: 0.1, Max: 300e9}},
		"Rejected":     {c.Rejected, Backoff{Base: 100e6, Factor: 2, Max: 30e9}},
		"PausePerName": {c.PausePerName, time.Duration(10_000)},
		"Settle":       {c.Settle, time.Duration(1e9)},
		"Linger":       {c.Linger, time.Duration(60e9)},
		"Silence":      {c.Silence, time.Duration(5e9)},
		"Replay":       {c.Replay, time.Duration(15e9)},
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
		Rejected: Backoff{Base: 5, Factor: 6, Max: 7}, PausePerName: 8, Settle: 9, Linger: 10, Silence: 11, Replay: 12,
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

func TestStatus(t *testing.T) {
	r := newRig(t)
	status := func(wantOpen, wantOpening bool, wantRetry time.Time) {
		t.Helper()
		if isOpen, isOpening, retryAt := r.m.Status(); isOpen != wantOpen || isOpening != wantOpening || !retryAt.Equal(wantRetry) {
			t.Errorf("Status = %v %v %v, want %v %v %v", isOpen, isOpening, retryAt, wantOpen, wantOpening, wantRetry)
		}
	}
	status(false, false, time.Time{})
	r.do(Subscribe{clusters, "a"}, Turn{})
	status(false, true, time.Time{})
	r.do(Opened{})
	status(true, false, time.Time{})
	r.do(Closed{Err: errors.New("refused")})
	status(false, false, r.now.Add(time.Second))
	r.pass(time.Second)
	r.do(Turn{})
	status(false, true, time.Time{})
}

// A rejection with the given content and rejected resources, and the time that its NACK
// waits.
func (r *rejections) pause(now *time.Time, digest uint64, bad ...uint64) time.Duration {
	u := r.met(&Received{Reject: "bad", Digest: digest, Bad: bad}, *now)
	wait := max(u.until.Sub(*now), 0)
	*now = now.Add(wait)
	u.answered(*now)
	return wait
}

func newTestRejections() *rejections {
	r := newRejections(&Config{Rejected: DefaultRejected, Random: func() float64 { return 0.5 }})
	return &r
}

const ms = time.Millisecond

// Content that was rejected waits longer each time that it comes again at once.
func TestPausesOfRejections(t *testing.T) {
	for _, c := range []struct {
		name    string
		after   time.Duration // from a NACK to the next response
		digests []uint64
		want    []time.Duration
	}{
		{"the same", 0, []uint64{1, 1, 1, 1}, []time.Duration{0, 100 * ms, 200 * ms, 400 * ms}},
		{"the same a second later", time.Second, []uint64{1, 1, 1}, []time.Duration{0, 100 * ms, 200 * ms}},
		{"the same after more than a second", time.Second + 1, []uint64{1, 1, 1}, []time.Duration{0, 0, 0}},
		{"others", 0, []uint64{1, 2, 3, 4, 5, 6, 7}, []time.Duration{0, 0, 0, 0, 0, 100 * ms, 200 * ms}},
		{"two in turn", 0, []uint64{1, 2, 1, 2}, []time.Duration{0, 0, 100 * ms, 200 * ms}},
		{
			"as many as are remembered", 0,
			[]uint64{1, 2, 3, 4, 5, 6, 7, 8, 1},
			[]time.Duration{0, 0, 0, 0, 0, 100 * ms, 200 * ms, 400 * ms, 800 * ms},
		},
	} {
		r, now := newTestRejections(), time.Unix(0, 0)
		for i, d := range c.digests {
			if got := r.pause(&now, d, 42); got != c.want[i] {
				t.Errorf("%s: NACK %d waits for %v, want %v", c.name, i, got, c.want[i])
			}
			now = now.Add(c.after)
		}
	}
}

// Eight runs of rejections are remembered, those that were met last.
func TestRunsOfRejectionsAreBounded(t *testing.T) {
	for runs, remembered := range map[uint64]bool{maxRuns: true, maxRuns + 1: false} {
		r, now := newTestRejections(), time.Unix(0, 0)
		for i := range runs {
			r.pause(&now, i, i)
		}
		if wait := r.pause(&now, 0, 0); (wait > 0) != remembered {
			t.Errorf("the first of %d runs waits for %v", runs, wait)
		}
		if len(r.runs) != maxRuns {
			t.Errorf("%d runs are remembered, want %d", len(r.runs), maxRuns)
		}
	}
}

// Of a run, eight contents and 256 rejected resources are remembered.
func TestRunsAreBounded(t *testing.T) {
	r, now := newTestRejections(), time.Unix(0, 0)
	var bad []uint64
	for i := range uint64(maxBad + 1) {
		bad = append(bad, i)
	}
	r.pause(&now, 1, bad...)
	if n := len(r.runs[0].bad); n != maxBad {
		t.Errorf("%d rejected resources are remembered, want %d", n, maxBad)
	}
	for d := range uint64(2 * maxContents) {
		r.pause(&now, d, 0)
	}
	if n := len(r.runs[0].contents); n != maxContents {
		t.Errorf("%d contents are remembered, want %d", n, maxContents)
	}
	if wait := r.pause(&now, 99, maxBad); wait != 0 || len(r.runs) != 2 {
		t.Errorf("a resource that is not remembered waits for %v in one of %d runs, want a run of its own", wait, len(r.runs))
	}
}

// The log has one line a minute about a run, and another about resources that are new.
func TestRunsAreLoggedSeldom(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		bad   uint64 // beside the first one
		quiet bool
	}{
		{time.Minute - 1, 0, true},
		{time.Minute, 0, false},
		{1, 1, false},
	} {
		r, start := newTestRejections(), time.Unix(1000, 0)
		u := r.met(&Received{Reject: "bad", Digest: 1, Bad: []uint64{0}}, start)
		if u.answered(start) {
			t.Error("the first rejection is not logged")
		}
		u = r.met(&Received{Reject: "bad", Digest: 1, Bad: []uint64{0, c.bad}}, start)
		if quiet := u.answered(start.Add(c.after)); quiet != c.quiet {
			t.Errorf("%v later, with resource %d: quiet = %v, want %v", c.after, c.bad, quiet, c.quiet)
		}
	}
}

// A response that comes while the NACK of the same content waits does not make it wait longer.
func TestSameContentDuringAPauseDoesNotProlongIt(t *testing.T) {
	r, now := newTestRejections(), time.Unix(0, 0)
	r.pause(&now, 1, 42)
	ev := &Received{Reject: "bad", Digest: 1, Bad: []uint64{42}}
	until := r.met(ev, now).until
	if u := r.met(ev, now.Add(50*ms)); !u.until.Equal(until) || u.repeats != 1 {
		t.Errorf("the NACK waits until %v, want %v", u.until, until)
	}
	if u := r.met(ev, until); !u.until.Equal(until.Add(200*ms)) || u.repeats != 2 {
		t.Errorf("after the pause, the NACK waits until %v, want 200 ms more", u.until)
	}
}

// A name that was dropped is remembered for 64 responses, and dropped anew four times.
func TestDoubtsAreBounded(t *testing.T) {
	never := func(string) bool { return false }
	for responses, crossed := range map[int]bool{0: false, 1: true, maxCrossing: true, maxCrossing + 1: false} {
		d := newDoubts()
		d.drop("a")
		for range responses {
			d.received(Received{}, never)
		}
		if got := d.take("a"); got != crossed {
			t.Errorf("after %d responses: crossed = %v, want %v", responses, got, crossed)
		}
	}
	d := newDoubts()
	d.taken["a"] = 0
	for i := range maxAnew {
		if !d.again("a") {
			t.Errorf("the name is not dropped anew for the time %d", i+1)
		}
	}
	if d.again("a") || len(d.taken) != 0 {
		t.Errorf("the name is dropped anew more than %d times", maxAnew)
	}
}

func TestOvertakenNamesAreForgottenInTime(t *testing.T) {
	for after, follows := range map[time.Duration]bool{overtakenFor: true, overtakenFor + 1: false} {
		o, now := newOvertaken(), time.Unix(0, 0)
		o.add([]string{"a"}, now)
		o.received(Received{Reject: "bad"}, now.Add(after))
		if o.follow != follows {
			t.Errorf("after %v: follow = %v, want %v", after, o.follow, follows)
		}
	}
	for _, ev := range []Received{
		{Accepted: []Accepted{{Name: "a"}}},
		{Accepted: []Accepted{{Name: "b", Aliases: []string{"a"}}}},
		{Rejected: []string{"a"}},
		{Removed: []string{"a"}},
	} {
		o := newOvertaken()
		o.add([]string{"a"}, time.Unix(0, 0))
		ev.Reject = "bad"
		o.received(ev, time.Unix(0, 0))
		if o.follow || len(o.names) != 0 {
			t.Errorf("a response with %+v leaves the name overtaken", ev)
		}
	}
}

// The oldest answers are given up if the server does not read.
func TestAnswersOfDeltaAreBounded(t *testing.T) {
	for responses, first := range map[int]string{maxAnswers: "0", maxAnswers + 1: "1", maxAnswers + 9: "9"} {
		r := newDeltaRig(t, Delta)
		r.open(clusters, "a")
		for i := range responses {
			r.do(Received{Type: clusters, Nonce: fmt.Sprint(i)})
		}
		if s := r.sent(); s.Nonce != first {
			t.Errorf("%d responses: the first answer is for %s, want %s", responses, s.Nonce, first)
		}
	}
}

func TestFit(t *testing.T) {
	names := []string{"aaa", "bbb", "ccc"}
	for room, want := range map[int]int{0: 0, 2: 0, 3: 1, 8: 2, 9: 3, 10: 3} {
		left := room
		if got := fit(names, &left); !slices.Equal(got, names[:want]) {
			t.Errorf("room for %d bytes: %v, want %v", room, got, names[:want])
		}
	}
}

// The versions that a first request tells take no more room than there is.
func TestToldVersionsAreBounded(t *testing.T) {
	for room, want := range map[int]int{0: 0, 4: 0, 5: 1, 9: 1, 10: 2, 100: 3} {
		s := newDeltaNames(clusters, &Config{})
		for _, name := range []string{"aaa", "bbb", "ccc"} {
			s.held[name] = Accepted{Name: name, Version: "vv"}
		}
		s.tell(room)
		if len(s.told) != want {
			t.Errorf("room for %d bytes: %v, want %d versions", room, s.told, want)
		}
	}
}

// Every name of a long list leaves in the end, and each request is within its bound.
func TestLongListsLeaveInSeveralRequests(t *testing.T) {
	r := newDeltaRig(t, Delta)
	long := strings.Repeat("x", 1<<20-1)
	s := r.open(clusters, "a"+long, "b"+long, "c"+long)
	if len(s.Subscribe) != 2 {
		t.Fatalf("the first request has %d names, want the 2 that it has room for", len(s.Subscribe))
	}
	r.pass(time.Second)
	if s = r.sent(); len(s.Subscribe) != 1 || s.Subscribe[0] != "c"+long {
		t.Errorf("the second request has %d names, want the last one", len(s.Subscribe))
	}
	r.silent()
}
