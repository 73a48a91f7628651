package ads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

func newDeltaRig(t *testing.T, protocol Protocol) *rig {
	return &rig{t: t, m: New(Config{Protocol: protocol, Random: func() float64 { return 0.5 }}), now: time.Unix(0, 0)}
}

func accepted(pairs ...string) (a []Accepted) {
	for i := 0; i < len(pairs); i += 2 {
		a = append(a, Accepted{Name: pairs[i], Version: pairs[i+1]})
	}
	return a
}

// asks checks what a request subscribes to, unsubscribes from and mentions.
func (r *rig) asks(s Send, subscribe, unsubscribe string, versions map[string]string) {
	r.t.Helper()
	slices.Sort(s.Subscribe)
	if !s.Delta || fmt.Sprint(s.Subscribe) != subscribe || fmt.Sprint(s.Unsubscribe) != unsubscribe || !maps.Equal(s.Versions, versions) {
		r.t.Errorf("request = %+v; want + %s, - %s, %v", s, subscribe, unsubscribe, versions)
	}
}

// reopen loses the stream and brings up the next one.
func (r *rig) reopen() Send {
	r.t.Helper()
	r.do(Closed{Err: errors.New("cut")})
	r.now, _ = r.m.NextDeadline()
	if e := r.do(Turn{}); len(e) != 1 || e[0] != Effect(Open{Delta: true}) {
		r.t.Fatalf("effects = %v, want Open", e)
	}
	r.do(Opened{})
	return r.sent()
}

func TestDeltaSendsDifferences(t *testing.T) {
	r := newDeltaRig(t, Delta)
	first := r.open(clusters, "a", "b")
	r.asks(first, "[a b]", "[]", nil)
	if !first.First || first.Nonce != "" {
		t.Errorf("first request = %+v; want the node and no nonce", first)
	}
	r.do(Subscribe{clusters, "c"}, Subscribe{clusters, "d"}, Unsubscribe{clusters, "d"}, Unsubscribe{clusters, "a"})
	r.pass(time.Second)
	next := r.sent()
	r.asks(next, "[c]", "[a]", nil)
	if next.First || next.Nonce != "" {
		t.Errorf("request = %+v; want neither node nor nonce", next)
	}
	r.silent()
}

// A server that does not read, or is not there, must not make names that come and go
// pile up.
func TestDeltaNamesThatComeAndGoLeaveNothing(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, "a")
	for range 100 {
		r.do(Subscribe{clusters, "b"}, Unsubscribe{clusters, "b"})
	}
	if n := len(r.m.of(clusters).(*deltaNames).fresh); n != 0 {
		t.Errorf("%d names are kept", n)
	}
	r.pass(time.Second)
	r.silent()
}

func TestDeltaUnsubscribeThenSubscribeAreTwoRequests(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, "a")
	r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"})
	r.pass(time.Second)
	r.asks(r.sent(), "[]", "[a]", nil)
	r.asks(r.sent(), "[a]", "[]", nil)
	r.silent()
}

// A name that is dropped, taken and dropped again is not wanted.
func TestDroppedTwice(t *testing.T) {
	for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
		r := newDeltaRig(t, protocol)
		r.open(clusters, "a", "b")
		r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"}, Unsubscribe{clusters, "a"})
		r.pass(time.Second)
		r.sent()
		r.silent()
		if names := r.m.of(clusters).all(); !slices.Equal(names, []string{"b"}) {
			t.Errorf("wanted = %v, want b", names)
		}
	}
}

func TestDeltaNewNamesWait(t *testing.T) {
	r := newDeltaRig(t, Delta)
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint(i))
	}
	r.open(clusters, names...)
	r.do(Subscribe{clusters, "late"})
	r.silent()
	if at, ok := r.m.NextDeadline(); !ok || at.Sub(r.now) != 10*time.Millisecond {
		t.Errorf("NextDeadline = %v, %v; want in 10 ms", at.Sub(r.now), ok)
	}
	r.pass(10 * time.Millisecond)
	r.asks(r.sent(), "[late]", "[]", nil)
}

func TestDeltaAnswersEveryResponse(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Nonce: "1"}, Received{Type: clusters, Nonce: "2", Reject: "bad"}, Subscribe{clusters, "b"})
	one, two := r.sent(), r.sent()
	r.asks(one, "[]", "[]", nil)
	r.asks(two, "[]", "[]", nil)
	if one.Nonce != "1" || one.Reject != "" || two.Nonce != "2" || two.Reject != "bad" {
		t.Errorf("answers = %+v, %+v", one, two)
	}
	if change := r.sent(); change.Nonce != "" || change.Reject != "" {
		t.Errorf("change of subscriptions = %+v, want one that answers nothing", change)
	} else {
		r.asks(change, "[b]", "[]", nil)
	}
	r.silent()
	for i := range 10 * maxAnswers {
		r.do(Received{Type: clusters, Nonce: fmt.Sprint(i)})
	}
	n := 0
	for last := ""; last != fmt.Sprint(10*maxAnswers-1); n++ {
		last = r.sent().Nonce
	}
	if n != maxAnswers {
		t.Errorf("%d answers to a server that did not read, want the last %d", n, maxAnswers)
	}
	r.do(Received{Type: endpoints, Nonce: "?"}) // never asked for on this stream
	r.silent()
}

func TestDeltaWildcard(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.asks(r.open(clusters, "*"), "[]", "[]", nil) // as every server understands it
	r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("learned", "1", "named", "1")})
	r.sent()
	r.do(Subscribe{clusters, "named"})
	r.pass(time.Second)
	r.asks(r.sent(), "[named]", "[]", nil)
	// Spelt out beside a name, and without the names that were learned (envoy#16063).
	r.asks(r.reopen(), "[* named]", "[]", map[string]string{"learned": "1", "named": "1"})
	r.do(Unsubscribe{clusters, "*"})
	r.pass(time.Second)
	r.asks(r.sent(), "[]", "[*]", nil)
	r.asks(r.reopen(), "[named]", "[]", map[string]string{"named": "1"})
}

// A client that holds much is not to be turned away for the length of its first
// request: gRPC servers take 4 MiB unless told otherwise.
func TestDeltaRequestsAreBounded(t *testing.T) {
	const n = 50_000
	size := func(s Send) (bytes int) {
		for _, name := range slices.Concat(s.Subscribe, s.Unsubscribe) {
			bytes += len(name)
		}
		for name, version := range s.Versions {
			bytes += len(name) + len(version)
		}
		return bytes
	}
	r := newDeltaRig(t, Delta)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%0100d", i)
	}
	r.open(clusters, names...)
	held := make([]Accepted, n)
	for i := range held {
		held[i] = Accepted{Name: names[i], Version: "1"}
	}
	r.do(Received{Type: clusters, Nonce: "1", Accepted: held})
	seen, requests := 0, 0
	check := func(s Send, names []string) {
		t.Helper()
		seen, requests = seen+len(names), requests+1
		if size(s) > maxRequest {
			t.Fatalf("a request of %d bytes", size(s))
		}
	}
	for s := r.reopen(); ; s = r.sent() {
		check(s, s.Subscribe)
		if seen == n {
			break
		}
		r.pass(time.Second)
	}
	if requests < 3 {
		t.Errorf("%d requests for 5 MB of names", requests)
	}
	for _, name := range names {
		r.do(Unsubscribe{clusters, name}, Subscribe{clusters, name})
	}
	dropped := 0
	for seen = 0; seen < n; {
		r.pass(time.Second)
		s := r.sent()
		check(s, s.Subscribe)
		if dropped += len(s.Unsubscribe); seen > dropped {
			t.Fatal("a name is taken again before it was seen dropped")
		}
	}
	r.silent()
}

func TestAutoSettlesForTheStateOfTheWorld(t *testing.T) {
	refused := newDeltaRig(t, Auto)
	refused.do(Subscribe{clusters, "a"})
	if e := refused.do(Turn{}); len(e) != 1 || e[0] != Effect(Open{Delta: true}) {
		t.Fatalf("effects = %v, want Open of a delta stream", e)
	}
	if e := refused.do(Closed{Err: errors.New("no such method"), Unimplemented: true}, Turn{}); len(e) != 2 || e[0] != Effect(Lost{}) || e[1] != Effect(Open{}) {
		t.Fatalf("effects = %v, want no error, and Open at once", e)
	}

	answered := newDeltaRig(t, Auto)
	answered.open(clusters, "a")
	answered.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("a", "1")}) // an answer is an answer
	answered.pass(time.Hour)
	answered.do(Turn{}, Written{})
	answered.reopen() // what is held is told: there may be nothing to say
	answered.pass(time.Hour)
	answered.silent()
	if !answered.m.Delta() {
		t.Error("a server with the protocol was taken for one without")
	}

	silent := newDeltaRig(t, Auto)
	silent.open(clusters, "a")
	silent.do(Closed{Err: errors.New("cut")})
	silent.pass(time.Hour)
	silent.do(Turn{}, Opened{})
	silent.sent()
	silent.do(Subscribe{clusters, "b"}, Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"})
	silent.pass(5 * time.Second)
	if e := silent.do(Turn{}); len(e) != 2 || e[0] != Effect(Lost{}) || e[1] != Effect(Open{}) {
		t.Fatalf("effects = %v, want no error, and Open at once", e)
	}
	silent.do(Opened{})
	if s := silent.sent(); s.Delta || !slices.Equal(s.Names, []string{"a", "b"}) || !s.First {
		t.Errorf("request = %+v, want the state of the world of a and b", s)
	}

	strict := newDeltaRig(t, Delta)
	strict.do(Subscribe{clusters, "a"}, Turn{})
	if e := strict.do(Closed{Err: errors.New("no such method"), Unimplemented: true}); len(e) != 1 || e[0].(Lost).Err == nil {
		t.Errorf("effects = %v, want the error", e)
	}
}

func TestSotwWildcard(t *testing.T) {
	r := newRig(t)
	if s := r.open(clusters, "*"); len(s.Names) != 0 {
		t.Errorf("names = %v; want none, as every server understands it", s.Names)
	}
	names := func(want ...string) {
		t.Helper()
		r.pass(time.Second)
		if s := r.sent(); !slices.Equal(s.Names, want) {
			t.Errorf("names = %v, want %v", s.Names, want)
		}
	}
	r.do(Received{Type: clusters, Nonce: "1", Version: "1"})
	names()
	r.do(Subscribe{clusters, "a"})
	names("*", "a")
	r.do(Unsubscribe{clusters, "a"})
	names("*") // no names would be understood, but not be the wildcard any longer
	r.do(Unsubscribe{clusters, "*"})
	names()

	r = newRig(t)
	r.open(clusters, "*")
	r.do(Unsubscribe{clusters, "*"})
	names("*") // no names would mean the wildcard still
	names()
	r.silent()
	if r.m.of(clusters).(*sotwNames).legacy {
		t.Error("the wildcard was not unsubscribed from")
	}
}

// A server that was fallen back from must not stay silent because it said everything
// before (gRFC A71 waits for its first response).
func TestRenewAsksAsIfForTheFirstTime(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("a", "1")}, Closed{Err: errRefused})
	r.do(Renew{})
	r.asks(r.reopen(), "[a]", "[]", nil)

	r = newRig(t)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Nonce: "1", Version: "1"}, Closed{Err: errRefused}, Renew{})
	r.now, _ = r.m.NextDeadline()
	r.do(Turn{}, Opened{})
	if s := r.sent(); s.Version != "" || !slices.Equal(s.Names, []string{"a"}) {
		t.Errorf("request = %+v, want no version", s)
	}
}

var errRefused = errors.New("refused")
