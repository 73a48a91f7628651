package ads

import (
	"fmt"
	"testing"
	"time"
)

// A naiveServer sends the next content again as soon as it reads an answer, as caches of
// control planes do that compare versions.
type naiveServer struct {
	*rig
	contents []Received
	sent     int
}

func (s *naiveServer) answer() {
	c := s.contents[s.sent%len(s.contents)]
	s.sent++
	c.Type, c.Version, c.Nonce = endpoints, "v", fmt.Sprint(s.sent)
	s.do(c)
}

// run exchanges messages for d and counts NACKs.
func (s *naiveServer) run(d time.Duration) (nacks int) {
	s.t.Helper()
	s.answer()
	s.requests(d, func(req Send) {
		if req.Reject != "" {
			nacks++
		}
		s.pass(time.Millisecond)
		s.answer()
	})
	return nacks
}

func TestRejectedContentThatComesAgainIsAnsweredWithAPause(t *testing.T) {
	bad := Received{Reject: "bad", Digest: 1}
	for _, c := range []struct {
		name     string
		contents []Received
	}{
		{"the same", []Received{bad}},
		{"in turns with another", []Received{bad, {Reject: "worse", Digest: 2}}},
	} {
		for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
			for d, most := range map[time.Duration]int{10 * time.Second: 8, 10 * time.Minute: 30} {
				r := newDeltaRig(t, protocol)
				r.open(endpoints, "a")
				s := &naiveServer{rig: r, contents: c.contents}
				if n := s.run(d); n < 7 || n > most*len(c.contents) {
					t.Errorf("%s, protocol %v: %d NACKs in %v, want 7 to %d", c.name, protocol, n, d, most*len(c.contents))
				}
			}
		}
	}
}

// Good content in between is acknowledged at once, and does not make the bad one new.
func TestContentThatAlternatesIsPacedToo(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	s := &naiveServer{rig: r, contents: []Received{{Reject: "bad", Digest: 1}, {}}}
	if n := s.run(10 * time.Second); n < 7 || n > 8 {
		t.Errorf("%d NACKs in 10 s, want 7 or 8", n)
	}
}

func TestOtherContentIsAnsweredAtOnce(t *testing.T) {
	for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
		r := newDeltaRig(t, protocol)
		r.open(endpoints, "a")
		for i := range 100 {
			r.do(Received{Type: endpoints, Nonce: fmt.Sprint(i), Reject: "bad", Digest: uint64(i)})
			if nack := r.sent(); nack.Repeats != 0 {
				t.Fatalf("NACK %d = %+v", i, nack)
			}
		}
		r.do(Received{Type: endpoints, Nonce: "x", Reject: "bad", Digest: 99})
		r.silent() // it waits
		r.do(Received{Type: endpoints, Nonce: "y"})
		if ack := r.sent(); ack.Nonce != "y" || ack.Reject != "" {
			t.Errorf("request = %+v, want the ACK of the good response", ack)
		}
	}
}

// A server that takes its time does no harm.
func TestContentThatComesAgainLaterIsAnsweredAtOnce(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	for i := range 10 {
		r.do(Received{Type: endpoints, Nonce: fmt.Sprint(i), Reject: "bad", Digest: 1})
		r.sent()
		r.pass(2 * time.Second)
	}
}

// A change of subscriptions has the nonce of the response whose NACK waits. It would read
// as an ACK of bad content, so the NACK goes first.
func TestChangeDuringAPauseIsNoACK(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	names := []string{"a"}
	nonce := 0
	reject := func() {
		nonce++
		r.do(Received{Type: endpoints, Version: "bad", Nonce: fmt.Sprint(nonce), Reject: "bad", Digest: 1, Rejected: []string{"a"}})
	}
	reject()
	r.next("a")
	for i := range 10 {
		r.pass(time.Millisecond)
		reject()
		names = append(names, fmt.Sprint("b", i))
		r.do(Subscribe{endpoints, names[i+1]})
		if nack := r.sent(); nack.Reject != "bad" || nack.Nonce != fmt.Sprint(nonce) || len(nack.Names) != i+1 {
			t.Fatalf("request %d = %+v, want the NACK", i, nack)
		}
		if change := r.sent(); change.Reject != "" || change.Version != "" || len(change.Names) != i+2 {
			t.Fatalf("request %d = %+v, want the change, with no version", i, change)
		}
		r.silent()
	}
}
