package ads

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// runServer runs a server that sends its next content 1 ms after it has read an answer, like caches of
// control planes that compare versions. It returns the number of NACKs.
func runServer(t *testing.T, protocol Protocol, d time.Duration, contents ...string) (nacks int) {
	t.Helper()
	r := newRigOf(t, protocol)
	r.run("subscribe endpoint a")
	sent := 0
	next := func() string {
		sent++
		return fmt.Sprintf("response endpoint version=v nonce=%d %s", sent, contents[(sent-1)%len(contents)])
	}
	r.onSend = func(s Request) {
		if s.Reject != "" {
			nacks++
		}
		r.now = r.now.Add(ms)
		r.respond(r.parse([]string{next()})[0].args)
	}
	r.run(next(), "wait "+d.String())
	return nacks
}

func TestRejectedContentThatComesAgainIsAnsweredWithAPause(t *testing.T) {
	for _, c := range []struct {
		name     string
		contents []string
	}{
		{"the same", []string{"nack=bad content=1"}},
		{"in turns with another", []string{"nack=bad content=1", "nack=worse content=2"}},
	} {
		for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
			for d, most := range map[time.Duration]int{10 * time.Second: 8, 10 * time.Minute: 30} {
				if n := runServer(t, protocol, d, c.contents...); n < 7 || n > most*len(c.contents) {
					t.Errorf("%s, protocol %v: %d NACKs in %v, want 7 to %d", c.name, protocol, n, d, most*len(c.contents))
				}
			}
		}
	}
}

// Valid content between the invalid one is acknowledged at once, and does not make the invalid one new.
func TestContentThatAlternatesIsPacedToo(t *testing.T) {
	if n := runServer(t, StateOfTheWorld, 10*time.Second, "nack=bad content=1", ""); n < 7 || n > 8 {
		t.Errorf("%d NACKs in 10 s, want 7 or 8", n)
	}
}

func TestOtherContentIsAnsweredAtOnce(t *testing.T) {
	for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
		r := newRigOf(t, protocol)
		r.run("subscribe endpoint a")
		for i := range 100 {
			if nack := r.one(fmt.Sprintf("response endpoint nonce=%d nack=bad content=%d", i, i)); nack.Reject == "" || nack.Repeats != 0 {
				t.Fatalf("NACK %d = %+v", i, nack)
			}
		}
		if early := r.run("response endpoint nonce=x nack=bad content=99"); len(early) > 0 {
			t.Errorf("NACK of repeated content = %+v, want a delay", early)
		}
		if ack := r.one("response endpoint nonce=y"); ack.Nonce != "y" || ack.Reject != "" {
			t.Errorf("request = %+v, want the ACK of the good response", ack)
		}
	}
}

// Each change during a delay is sent at once: with the previous nonce, then with the NACK, and then in a plain
// request for a server that ignores both.
func TestChangeDuringAPauseIsNoACK(t *testing.T) {
	r := newRig(t)
	r.run("subscribe endpoint a")
	nonce := 0
	reject := func() string {
		nonce++
		return fmt.Sprintf("response endpoint version=bad nonce=%d content=1 a=invalid", nonce)
	}
	r.run(reject())
	for i := range 10 {
		r.run("wait 1ms", reject())
		sends := r.run("wait 1ms", fmt.Sprint("subscribe endpoint b", i))
		if len(sends) != 3 {
			t.Fatalf("change %d: %d requests, want 3", i, len(sends))
		}
		for k, want := range []struct {
			nonce  int
			reject string
		}{{nonce - 1, ""}, {nonce, "a: invalid"}, {nonce, ""}} {
			req := sends[k]
			if req.Nonce != fmt.Sprint(want.nonce) || req.Reject != want.reject || req.Version != "" || len(req.Names) != i+2 {
				t.Fatalf("change %d: request = %+v, want nonce %d, rejection %q, no version, %d names", i, req, want.nonce, want.reject, i+2)
			}
		}
	}
}

// This server ignores requests with an old nonce, and resends the same invalid content as soon as it reads another
// request. Its response arrives before the client knows that its request was sent.
func TestChangeDuringAPauseReachesAServerThatRepeatsAtOnce(t *testing.T) {
	r := newRig(t)
	var names []string // of the last request that the server did not ignore
	nonce, nacks := 0, 0
	respond := func() {
		nonce++
		r.respond(r.parse([]string{fmt.Sprintf("response endpoint version=bad nonce=%d nack=bad content=1", nonce)})[0].args)
	}
	r.run("subscribe endpoint a b")
	r.onSend = func(s Request) {
		if s.Reject != "" {
			nacks++
		}
		if s.Nonce == "" || s.Nonce == fmt.Sprint(nonce) {
			names = sorted(s.Names)
			respond()
		}
	}
	respond()
	r.run()
	for i, c := range []struct {
		change string
		want   string
		nacks  int
	}{
		{"subscribe endpoint c", "a b c", 1},
		{"unsubscribe endpoint b", "a c", 1},
		// The server may not have read that the name was dropped.
		{"subscribe endpoint b", "a b c", maxAnew + 2},
	} {
		r.now = r.now.Add(10 * time.Second)
		r.run() // the NACK of the last content
		nacks = 0
		r.run(c.change)
		if got := strings.Join(names, " "); got != c.want || nacks > c.nacks {
			t.Errorf("change %d: the server has %s after %d NACKs, want %s after %d", i, got, nacks, c.want, c.nacks)
		}
	}
}

// A rejection with the given content and rejected resources, and the time that its NACK
// waits.
func (r *rejections) pause(now *time.Time, digest uint64, bad ...uint64) time.Duration {
	u := r.reject(&Response{Reject: "bad", Digest: digest, Bad: bad}, *now)
	wait := max(u.until.Sub(*now), 0)
	*now = now.Add(wait)
	u.answered(*now)
	return wait
}

func newTestRejections() *rejections {
	r := newRejections(&Config{Rejected: DefaultRejected, Random: func() float64 { return 0.5 }})
	return &r
}

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
		u := r.reject(&Response{Reject: "bad", Digest: 1, Bad: []uint64{0}}, start)
		if u.answered(start) {
			t.Error("the first rejection is not logged")
		}
		u = r.reject(&Response{Reject: "bad", Digest: 1, Bad: []uint64{0, c.bad}}, start)
		if quiet := u.answered(start.Add(c.after)); quiet != c.quiet {
			t.Errorf("%v later, with resource %d: quiet = %v, want %v", c.after, c.bad, quiet, c.quiet)
		}
	}
}

// Responses with other content do not make a NACK wait longer, either: the server has not read a NACK since.
func TestOtherContentDuringAPauseDoesNotProlongIt(t *testing.T) {
	r, now := newTestRejections(), time.Unix(0, 0)
	for d := range uint64(maxSpared + 1) {
		r.pause(&now, d, 42)
	}
	until := r.reject(&Response{Reject: "bad", Digest: 10, Bad: []uint64{42}}, now).until
	for d := range uint64(10) {
		u := r.reject(&Response{Reject: "bad", Digest: 11 + d, Bad: []uint64{42}}, now.Add(time.Duration(d)*ms))
		if !u.until.Equal(until) || u.repeats != 1 {
			t.Fatalf("response %d: the NACK waits until %v after %d repetitions, want %v after one", d, u.until, u.repeats, until)
		}
	}
	now = until
	r.runs[0].answered(now)
	if wait := r.pause(&now, 99, 42); wait != 200*ms {
		t.Errorf("the next NACK waits for %v, want 200 ms", wait)
	}
}

// The first few responses with other content end the pause: the control plane has changed something.
func TestOtherContentDuringAPauseEndsIt(t *testing.T) {
	r, now := newTestRejections(), time.Unix(0, 0)
	r.pause(&now, 0, 42)
	for d := range uint64(maxSpared) {
		u := r.reject(&Response{Reject: "bad", Digest: d, Bad: []uint64{42}}, now)
		if !now.Before(u.until) {
			t.Fatalf("the NACK of repeated content %d waits until %v, want a pause after %v", d, u.until, now)
		}
		if u = r.reject(&Response{Reject: "bad", Digest: d + 1, Bad: []uint64{42}}, now); now.Before(u.until) {
			t.Errorf("the NACK of new content %d waits until %v, want none", d+1, u.until)
		}
		u.answered(now)
	}
}

// A response that comes while the NACK of the same content waits does not make it wait longer.
func TestSameContentDuringAPauseDoesNotProlongIt(t *testing.T) {
	r, now := newTestRejections(), time.Unix(0, 0)
	r.pause(&now, 1, 42)
	ev := &Response{Reject: "bad", Digest: 1, Bad: []uint64{42}}
	until := r.reject(ev, now).until
	if u := r.reject(ev, now.Add(50*ms)); !u.until.Equal(until) || u.repeats != 1 {
		t.Errorf("the NACK waits until %v, want %v", u.until, until)
	}
	if u := r.reject(ev, until); !u.until.Equal(until.Add(200*ms)) || u.repeats != 2 {
		t.Errorf("after the pause, the NACK waits until %v, want 200 ms more", u.until)
	}
}

// A NACK that left before its time is no reason to wait longer for the next one.
func TestEarlyNackDoesNotProlongThePause(t *testing.T) {
	r, now := newTestRejections(), time.Unix(0, 0)
	ev := &Response{Reject: "bad", Digest: 1, Bad: []uint64{42}}
	r.pause(&now, 1, 42)
	r.reject(ev, now).answered(now)
	if u := r.reject(ev, now); u.repeats != 1 || !u.until.Equal(now.Add(100*ms)) {
		t.Errorf("after an early NACK: %d repeats, waits for %v; want 1, 100 ms", u.repeats, u.until.Sub(now))
	}
	u := r.runs[0]
	u.answered(u.until)
	if u = r.reject(ev, u.until); u.repeats != 2 {
		t.Errorf("after a NACK in time: %d repeats, want 2", u.repeats)
	}
}

// TestContentThatUnitesTwoRuns expects one growing pause for content that has the rejected resources of
// two earlier responses.
func TestContentThatUnitesTwoRuns(t *testing.T) {
	config := Config{}.withDefaults()
	r, start := newRejections(&config), time.Unix(0, 0)
	now := start
	reject := func(bad ...uint64) {
		now = now.Add(ms)
		u := r.reject(&Response{Digest: uint64(len(bad))*10 + bad[0], Bad: bad}, now)
		if u.until.After(now) {
			now = u.until
		}
		u.answered(now)
	}
	reject(1)
	reject(2)
	nacks := 0
	for ; now.Before(start.Add(10 * time.Second)); nacks++ {
		reject(1, 2)
	}
	if nacks < 7 || nacks > 9 {
		t.Errorf("%d NACKs in 10 s, want 7 to 9", nacks)
	}
}
