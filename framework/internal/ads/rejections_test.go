package ads

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A naiveServer sends its next content as soon as it reads an answer, like caches of control
// planes that compare versions.
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
	bad := Received{Reject: "bad", Digest: 1, Bad: []uint64{1}}
	for _, c := range []struct {
		name     string
		contents []Received
	}{
		{"the same", []Received{bad}},
		{"in turns with another", []Received{bad, {Reject: "worse", Digest: 2, Bad: []uint64{2}}}},
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
	s := &naiveServer{rig: r, contents: []Received{{Reject: "bad", Digest: 1, Bad: []uint64{1}}, {}}}
	if n := s.run(10 * time.Second); n < 7 || n > 8 {
		t.Errorf("%d NACKs in 10 s, want 7 or 8", n)
	}
}

func TestOtherContentIsAnsweredAtOnce(t *testing.T) {
	for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
		r := newDeltaRig(t, protocol)
		r.open(endpoints, "a")
		for i := range 100 {
			r.do(Received{Type: endpoints, Nonce: fmt.Sprint(i), Reject: "bad", Digest: uint64(i), Bad: []uint64{uint64(i)}})
			if nack := r.sent(); nack.Repeats != 0 {
				t.Fatalf("NACK %d = %+v", i, nack)
			}
		}
		r.do(Received{Type: endpoints, Nonce: "x", Reject: "bad", Digest: 99, Bad: []uint64{99}})
		r.silent() // it waits
		r.do(Received{Type: endpoints, Nonce: "y"})
		if ack := r.sent(); ack.Nonce != "y" || ack.Reject != "" {
			t.Errorf("request = %+v, want the ACK of the good response", ack)
		}
	}
}

// A server that resends content slowly gets its NACKs at once.
func TestContentThatComesAgainLaterIsAnsweredAtOnce(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	for i := range 10 {
		r.do(Received{Type: endpoints, Nonce: fmt.Sprint(i), Reject: "bad", Digest: 1, Bad: []uint64{1}})
		r.sent()
		r.pass(2 * time.Second)
	}
}

// With the nonce of the response whose NACK waits, a change of subscriptions would read as
// an ACK of bad content. So it has the previous nonce, the NACK follows with the new list, and
// then a plain request for a server that ignores both.
func TestChangeDuringAPauseIsNoACK(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	names := []string{"a"}
	nonce := 0
	reject := func() {
		nonce++
		r.do(Received{Type: endpoints, Version: "bad", Nonce: fmt.Sprint(nonce), Reject: "bad", Digest: 1, Bad: []uint64{1}, Rejected: []string{"a"}})
	}
	reject()
	r.next("a")
	for i := range 10 {
		r.pass(time.Millisecond)
		reject()
		names = append(names, fmt.Sprint("b", i))
		r.do(Subscribe{endpoints, names[i+1]})
		for _, want := range []struct {
			nonce  int
			reject string
		}{{nonce - 1, ""}, {nonce, "bad"}, {nonce, ""}} {
			req := r.sent()
			if req.Nonce != fmt.Sprint(want.nonce) || req.Reject != want.reject || req.Version != "" || len(req.Names) != i+2 {
				t.Fatalf("change %d: request = %+v, want nonce %d, rejection %q, no version, %d names", i, req, want.nonce, want.reject, i+2)
			}
		}
		r.silent()
	}
}

// A stubbornServer ignores requests with an old nonce, and resends the same bad content as
// soon as it reads another request. Its response comes before the client knows that its
// request has left.
type stubbornServer struct {
	*rig
	nonce int
	names []string // of the last request that it did not pass over
	nacks int
}

func (s *stubbornServer) respond() {
	s.nonce++
	s.do(Received{Type: endpoints, Version: "bad", Nonce: fmt.Sprint(s.nonce), Reject: "bad", Digest: 1, Bad: []uint64{1}})
}

// serve reads all that the machine has to send without any time passing.
func (s *stubbornServer) serve() {
	s.t.Helper()
	for range 100 {
		i := slices.IndexFunc(s.do(Turn{}), func(e Effect) bool { _, ok := e.(Send); return ok })
		if i < 0 {
			return
		}
		req := s.m.effects[i].(Send)
		if req.Reject != "" {
			s.nacks++
		}
		if req.Nonce == "" || req.Nonce == fmt.Sprint(s.nonce) {
			s.names = slices.Sorted(slices.Values(req.Names))
			s.respond()
		}
		s.do(Written{})
	}
	s.t.Fatalf("the machine does not stop sending; names = %v", s.names)
}

func TestChangeDuringAPauseReachesAServerThatRepeatsAtOnce(t *testing.T) {
	s := &stubbornServer{rig: newRig(t)}
	s.open(endpoints, "a", "b")
	s.respond()
	s.serve()
	for i, c := range []struct {
		change Event
		want   []string
		nacks  int
	}{
		{Subscribe{endpoints, "c"}, []string{"a", "b", "c"}, 1},
		{Unsubscribe{endpoints, "b"}, []string{"a", "c"}, 1},
		// The server may not have read that the name was dropped.
		{Subscribe{endpoints, "b"}, []string{"a", "b", "c"}, maxAnew + 2},
	} {
		s.pass(10 * time.Second)
		s.serve() // the NACK of the last content
		s.nacks = 0
		s.do(c.change)
		s.serve()
		if !slices.Equal(s.names, c.want) || s.nacks > c.nacks {
			t.Errorf("change %d: the server has %v after %d NACKs, want %v after %d", i, s.names, s.nacks, c.want, c.nacks)
		}
	}
}

// A change that leaves during a pause does not wait for the NACK. If a good response comes
// before that NACK, its ACK has the new names: no plain request follows.
func TestNoRequestFollowsAnACKAfterAChangeDuringAPause(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	for _, nonce := range []string{"1", "2"} {
		r.do(Received{Type: endpoints, Version: "bad", Nonce: nonce, Reject: "bad", Digest: 1, Bad: []uint64{1}, Rejected: []string{"a"}})
		if nonce == "1" {
			r.next("a")
		}
	}
	r.silent()
	r.do(Subscribe{endpoints, "b"}, Turn{})
	r.do(Received{Type: endpoints, Version: "good", Nonce: "3", Accepted: []Accepted{{Name: "a"}, {Name: "b"}}}, Written{})
	if req := r.next("a", "b"); req.Nonce != "3" || req.Version != "good" || req.Reject != "" {
		t.Fatalf("request = %+v, want the ACK of response 3", req)
	}
	r.silent()
}
