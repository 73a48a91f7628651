package ads

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

var (
	clusters  = &resource.Descriptor{Name: "envoy.config.cluster.v3.Cluster", Complete: true}
	endpoints = &resource.Descriptor{Name: "envoy.config.endpoint.v3.ClusterLoadAssignment"}
)

// A rig drives a machine by hand, with a clock of its own.
type rig struct {
	t   *testing.T
	m   *Machine
	now time.Time
}

func newRig(t *testing.T) *rig {
	return &rig{t: t, m: New(Config{Random: func() float64 { return 0.5 }}), now: time.Unix(0, 0)}
}

// do handles events and returns copies of the effects of all of them.
func (r *rig) do(events ...Event) []Effect {
	var effects []Effect
	for _, ev := range events {
		effects = append(effects, r.m.Handle(ev, r.now)...)
	}
	return effects
}

// open subscribes to nothing and brings a stream up on which names are awaited.
func (r *rig) open(t *resource.Descriptor, names ...string) Send {
	r.t.Helper()
	for _, n := range names {
		r.do(Subscribe{t, n})
	}
	if e := r.do(Turn{}); len(e) != 1 || e[0] != Effect(Open{Delta: r.m.Delta()}) {
		r.t.Fatalf("effects of the first turn = %v, want Open", e)
	}
	r.do(Opened{})
	return r.sent()
}

// sent takes a turn that must send, and lets the request leave.
func (r *rig) sent() Send {
	r.t.Helper()
	for _, e := range r.do(Turn{}) {
		if s, ok := e.(Send); ok {
			r.do(Written{})
			s.Names = slices.Sorted(slices.Values(s.Names)) // the machine keeps its own
			return s
		}
	}
	r.t.Fatal("the turn sent nothing")
	return Send{}
}

func (r *rig) silent() {
	r.t.Helper()
	for _, e := range r.do(Turn{}) {
		if s, ok := e.(Send); ok {
			r.t.Fatalf("the turn sent %+v, want nothing", s)
		}
	}
}

func (r *rig) pass(d time.Duration) { r.now = r.now.Add(d) }

func TestNothingOpensBeforeSomethingIsWanted(t *testing.T) {
	r := newRig(t)
	if e := r.do(Turn{}); len(e) != 0 {
		t.Fatalf("effects = %v, want none", e)
	}
	if at, ok := r.m.NextDeadline(); ok {
		t.Fatalf("NextDeadline = %v, want none", at)
	}
}

func TestOneRequestForABurst(t *testing.T) {
	r := newRig(t)
	var names []string
	for i := range 10000 {
		names = append(names, fmt.Sprintf("c%05d", i))
	}
	first := r.open(clusters, names...)
	if len(first.Names) != 10000 || !first.First || first.Nonce != "" || first.Version != "" {
		t.Errorf("first request: %d names, First %v, nonce %q, version %q", len(first.Names), first.First, first.Nonce, first.Version)
	}
	r.silent()
}

func TestOneRequestInFlightAtATime(t *testing.T) {
	r := newRig(t)
	r.do(Subscribe{clusters, "c"}, Subscribe{endpoints, "e"}, Turn{}, Opened{})
	if n := len(r.do(Turn{}, Turn{})); n != 1 {
		t.Fatalf("%d effects before the first request has left, want 1", n)
	}
	r.do(Written{})
	second := r.sent()
	if second.Type != endpoints || second.First {
		t.Errorf("second request = %+v, want endpoints without the node", second)
	}
}

func TestAckCarriesVersionNonceAndNames(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Received{Type: clusters, Version: "7", Nonce: "n1"})
	ack := r.sent()
	if ack.Version != "7" || ack.Nonce != "n1" || ack.Reject != "" || len(ack.Names) != 2 {
		t.Errorf("ack = %+v", ack)
	}
	r.silent()
}

func TestNackKeepsTheAcceptedVersion(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.sent()
	r.do(Received{Type: clusters, Version: "2", Nonce: "n2", Reject: "a: bad"})
	nack := r.sent()
	if nack.Version != "1" || nack.Nonce != "n2" || nack.Reject != "a: bad" {
		t.Errorf("nack = %+v", nack)
	}
	r.do(Received{Type: clusters, Version: "3", Nonce: "n3"})
	if ack := r.sent(); ack.Reject != "" || ack.Version != "3" {
		t.Errorf("ack after nack = %+v", ack)
	}
}

func TestNewNamesWaitInProportionToTheList(t *testing.T) {
	r := newRig(t)
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint(i))
	}
	r.open(clusters, names...)
	r.do(Subscribe{clusters, "late"})
	r.silent()
	at, ok := r.m.NextDeadline()
	if want := r.now.Add(10 * time.Millisecond); !ok || !at.Equal(want) {
		t.Fatalf("NextDeadline = %v %v, want %v", at, ok, want)
	}
	r.now = at
	if s := r.sent(); len(s.Names) != 1001 {
		t.Errorf("%d names, want 1001", len(s.Names))
	}
}

func TestAsManyNewNamesDoNotWait(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Subscribe{clusters, "c"})
	r.silent()
	r.do(Subscribe{clusters, "d"})
	if s := r.sent(); !slices.Equal(s.Names, []string{"a", "b", "c", "d"}) {
		t.Errorf("names = %v", s.Names)
	}
}

// Names that come one by one must not cost the square of their number: 20,000
// requests would hold 200 million names.
func TestBytesAreLinearInNames(t *testing.T) {
	for _, c := range []struct {
		every time.Duration // between two watches
		most  int           // names sent for each name watched
	}{
		{10 * time.Microsecond, 3},
		{100 * time.Microsecond, 12},
		{time.Millisecond, 102},
	} {
		for _, n := range []int{1000, 10000} {
			r := newRig(t)
			r.open(clusters, "first")
			sent := 0
			for i := range n {
				r.do(Subscribe{clusters, fmt.Sprint(i)})
				r.pass(c.every)
				for _, e := range r.do(Turn{}) {
					if s, ok := e.(Send); ok {
						sent += len(s.Names)
						r.do(Written{})
					}
				}
			}
			if sent > c.most*n {
				t.Errorf("a watch every %v: %d names sent for %d watches, want at most %d each", c.every, sent, n, c.most)
			}
		}
	}
}

func TestDroppedNameIsSeenDroppedBeforeItIsTakenAgain(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"})
	r.pass(time.Second)
	if s := r.sent(); !slices.Equal(s.Names, []string{"b"}) {
		t.Errorf("first request = %v, want [b]", s.Names)
	}
	r.pass(time.Second)
	if s := r.sent(); !slices.Equal(s.Names, []string{"a", "b"}) {
		t.Errorf("second request = %v, want [a b]", s.Names)
	}
	r.pass(time.Second)
	r.silent()
}

func TestNameDroppedBeforeItWasSentLeavesNoTrace(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a", "b")
	r.do(Subscribe{clusters, "x"}, Unsubscribe{clusters, "x"})
	r.pass(time.Second)
	r.silent()
}

func TestEmptyListUnsubscribesButNeverOpensAType(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Subscribe{endpoints, "e"}, Unsubscribe{endpoints, "e"}, Unsubscribe{clusters, "a"})
	r.pass(time.Second)
	s := r.sent()
	if s.Type != clusters || len(s.Names) != 0 {
		t.Errorf("request = %+v, want an empty list of clusters", s)
	}
	r.silent()
	// A type that was never asked for on this stream is not answered either.
	r.do(Received{Type: endpoints, Version: "1", Nonce: "n"})
	r.silent()
}

func TestStillAcksWhenNothingIsWantedAnyLonger(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Unsubscribe{clusters, "a"}, Received{Type: clusters, Version: "1", Nonce: "n"})
	if s := r.sent(); s.Nonce != "n" || s.Version != "1" || len(s.Names) != 1 {
		t.Errorf("ack = %+v, want one with the names of the request before it", s)
	}
	r.pass(time.Second)
	if s := r.sent(); s.Nonce != "n" || s.Version != "1" || len(s.Names) != 0 {
		t.Errorf("change = %+v, want one without names", s)
	}
}

func TestNewStreamKeepsVersionsAndForgetsNonces(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Version: "5", Nonce: "n"})
	r.sent()
	r.do(Unsubscribe{clusters, "a"}, Subscribe{clusters, "a"}, Subscribe{clusters, "b"})
	lost := r.do(Closed{Err: errors.New("boom")})
	if len(lost) != 1 || lost[0] != (Lost{}) {
		t.Fatalf("effects = %v, want Lost without an error: there was a response", lost)
	}
	at, ok := r.m.NextDeadline()
	if want := r.now.Add(time.Second); !ok || !at.Equal(want) {
		t.Fatalf("NextDeadline = %v %v, want %v", at, ok, want)
	}
	r.now = at
	r.do(Turn{}, Opened{})
	s := r.sent()
	if !s.First || s.Version != "5" || s.Nonce != "" || !slices.Equal(s.Names, []string{"a", "b"}) {
		t.Errorf("first request of the new stream = %+v", s)
	}
	r.silent()
}

func TestBackoffGrowsAndStartsOverAfterAResponse(t *testing.T) {
	r := newRig(t)
	r.do(Subscribe{clusters, "a"}, Turn{})
	var waits []time.Duration
	for range 13 {
		e := r.do(Closed{Err: errors.New("refused")})
		if l, ok := e[0].(Lost); !ok || l.Err == nil {
			t.Fatalf("effects = %v, want Lost with the error", e)
		}
		at, _ := r.m.NextDeadline()
		waits = append(waits, at.Sub(r.now).Round(time.Millisecond))
		r.now = at
		if e := r.do(Turn{}); len(e) != 1 {
			t.Fatalf("effects = %v, want Open", e)
		}
	}
	want := []time.Duration{1000, 1600, 2560, 4096, 6554, 10486, 16777, 26844, 42950, 68719, 109951, 120000, 120000}
	for i := range want {
		if waits[i] != want[i]*time.Millisecond {
			t.Fatalf("waits = %v", waits)
		}
	}
	r.do(Opened{}, Turn{}, Written{}, Received{Type: clusters, Version: "1", Nonce: "n"}, Closed{})
	if at, _ := r.m.NextDeadline(); at.Sub(r.now) != time.Second {
		t.Errorf("wait after a response = %v, want 1s", at.Sub(r.now))
	}
	for _, want := range []time.Duration{time.Second, 1600 * time.Millisecond} {
		r.now, _ = r.m.NextDeadline()
		r.do(Turn{})
		r.do(Closed{Err: errors.New("refused")})
		if at, _ := r.m.NextDeadline(); at.Sub(r.now) != want {
			t.Errorf("wait after a failure that follows a response = %v, want %v", at.Sub(r.now), want)
		}
	}
}

func TestJitterStaysWithinItsShareAndMax(t *testing.T) {
	b := DefaultBackoff
	if d := b.delay(1, func() float64 { return 0 }); d != 800*time.Millisecond {
		t.Errorf("least first delay = %v", d)
	}
	if d := b.delay(1, func() float64 { return 1 }); d != 1200*time.Millisecond {
		t.Errorf("greatest first delay = %v", d)
	}
	if d := b.delay(1000, func() float64 { return 1 }); d != 120*time.Second {
		t.Errorf("greatest delay = %v", d)
	}
}

func TestBackoffWithGapsIsNoHotLoop(t *testing.T) {
	half := func() float64 { return 0.5 }
	for _, b := range []struct {
		given  Backoff
		first  time.Duration
		second time.Duration
	}{
		{Backoff{}, time.Second, 1600 * time.Millisecond},
		{Backoff{Base: 2 * time.Second}, 2 * time.Second, 3200 * time.Millisecond},
		{Backoff{Max: time.Second}, time.Second, time.Second},
		{Backoff{Base: time.Hour, Factor: 2}, time.Hour, time.Hour},
		{Backoff{Base: -1, Factor: -1, Jitter: -1, Max: -1}, time.Second, 1600 * time.Millisecond},
		{Backoff{Jitter: 7}, time.Second, 1600 * time.Millisecond},
	} {
		got := Config{Backoff: b.given}.withDefaults().Backoff
		if got.delay(1, half) != b.first || got.delay(2, half) != b.second {
			t.Errorf("%+v: pauses %v and %v, want %v and %v", b.given, got.delay(1, half), got.delay(2, half), b.first, b.second)
		}
		if least := got.delay(1, func() float64 { return 0 }); least < 0 {
			t.Errorf("%+v: a pause of %v", b.given, least)
		}
	}
}

func TestCloseWithoutResponseAndErrorIsAnError(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	e := r.do(Closed{})
	if l, ok := e[0].(Lost); !ok || l.Err == nil {
		t.Errorf("effects = %v, want Lost with an error", e)
	}
}

func TestStreamOnWhichNothingIsWantedIsLetGo(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n"})
	r.sent()
	r.pass(time.Second)
	r.do(Unsubscribe{clusters, "a"})
	r.sent()
	r.pass(59 * time.Second)
	r.do(Subscribe{clusters, "a"}) // in time: the minute starts over
	r.sent()
	r.pass(time.Second)
	r.do(Unsubscribe{clusters, "a"})
	r.sent()
	at, ok := r.m.NextDeadline()
	if !ok || at.Sub(r.now) != time.Minute {
		t.Fatalf("NextDeadline = %v %v, want in a minute", at, ok)
	}
	r.now = at
	if e := r.do(Turn{}); len(e) != 1 || e[0] != (Idle{}) {
		t.Fatalf("effects = %v, want Idle", e)
	}
	if at, ok := r.m.NextDeadline(); ok {
		t.Errorf("NextDeadline = %v; nothing is awaited", at)
	}
	if s := r.open(clusters, "a"); !s.First || s.Nonce != "" || s.Version != "" {
		t.Errorf("first request of the next stream = %+v; want the node, no nonce, and no version of what was let go", s)
	}
}

// A stream lingers from when nothing is wanted on it, not on one before it.
func TestLingeringBeginsAnew(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Unsubscribe{clusters, "a"}, Turn{}, Written{}, Closed{}, Subscribe{clusters, "a"})
	r.pass(time.Hour)
	r.do(Turn{}, Unsubscribe{clusters, "a"}, Opened{})
	if e := r.do(Turn{}); slices.Contains(e, Effect(Idle{})) {
		t.Errorf("effects = %v; the stream has just opened", e)
	}
}

func TestNothingIsTriedAgainWhenNothingIsWanted(t *testing.T) {
	r := newRig(t)
	r.do(Subscribe{clusters, "a"}, Turn{}, Closed{Err: errors.New("refused")}, Unsubscribe{clusters, "a"})
	at, _ := r.m.NextDeadline()
	if e := r.do(Turn{}); len(e) != 0 {
		t.Errorf("effects within the pause = %v, want none", e)
	}
	r.now = at
	if e := r.do(Turn{}); len(e) != 1 || e[0] != (Idle{}) {
		t.Errorf("effects after the pause = %v, want Idle", e)
	}
	if e := r.do(Subscribe{clusters, "a"}, Turn{}); len(e) != 1 || e[0] != Effect(Open{Delta: r.m.Delta()}) {
		t.Errorf("effects = %v, want Open at once", e)
	}
	r.do(Closed{Err: errors.New("refused")})
	if at, _ := r.m.NextDeadline(); at.Sub(r.now) != 1600*time.Millisecond {
		t.Errorf("pause = %v; want it to have grown, no stream brought a response (gRFC A57)", at.Sub(r.now))
	}
}

func TestAskedNamesEachNewNameOncePerStream(t *testing.T) {
	r := newRig(t)
	asked := func(events ...Event) (names []string) {
		for _, e := range r.do(events...) {
			if a, ok := e.(Asked); ok {
				names = append(names, a.Names...)
			}
		}
		return names
	}
	r.do(Subscribe{clusters, "a"}, Turn{}, Opened{})
	if n := asked(Turn{}); n != nil {
		t.Fatalf("asked %v before the request has left", n)
	}
	if n := asked(Written{}); !slices.Equal(n, []string{"a"}) {
		t.Fatalf("asked %v, want [a]", n)
	}
	r.do(Subscribe{clusters, "b"})
	r.pass(time.Second)
	if n := asked(Turn{}, Written{}); !slices.Equal(n, []string{"b"}) {
		t.Fatalf("asked %v, want [b]", n)
	}
	r.do(Received{Type: clusters, Version: "1", Nonce: "n"})
	if n := asked(Turn{}, Written{}); n != nil {
		t.Fatalf("an ack asked %v", n)
	}
	r.do(Closed{})
	r.pass(time.Minute)
	r.do(Turn{}, Opened{})
	n := asked(Turn{}, Written{})
	slices.Sort(n)
	if !slices.Equal(n, []string{"a", "b"}) {
		t.Fatalf("a new stream asked %v, want [a b]", n)
	}
}

func TestHealthyAfterAResponseOrOnceSettled(t *testing.T) {
	healthy := func(effects []Effect) bool { return slices.Contains(effects, Effect(Healthy{})) }
	r := newRig(t)
	r.open(clusters, "a")
	if healthy(r.do(Turn{})) {
		t.Error("healthy at once")
	}
	if !healthy(r.do(Received{Type: clusters, Nonce: "n"})) {
		t.Error("not healthy after a response")
	}
	r = newRig(t)
	r.open(clusters, "a")
	at, ok := r.m.NextDeadline()
	if !ok || at.Sub(r.now) != time.Second {
		t.Fatalf("NextDeadline = %v %v, want in 1s", at, ok)
	}
	r.now = at
	if !healthy(r.do(Turn{})) {
		t.Error("not healthy after a quiet second")
	}
	if healthy(r.do(Turn{})) {
		t.Error("healthy was told twice")
	}
}

// If a stream counted as healthy and then ends without a response, the next one must be up
// for longer, so that watchers are not notified of each attempt.
func TestSettlesMoreSlowlyAfterStreamsWithoutAResponse(t *testing.T) {
	r := newRig(t)
	r.do(Subscribe{clusters, "a"})
	// connect opens a stream, and reports whether it is healthy when it has been up for d.
	connect := func(d time.Duration) (healthy bool) {
		r.pass(DefaultBackoff.Max)
		r.do(Turn{}, Opened{}, Turn{}, Written{})
		r.pass(d)
		return slices.Contains(r.do(Turn{}), Effect(Healthy{}))
	}
	if !connect(15 * time.Second) {
		t.Error("not healthy after 15 s")
	}
	r.do(Closed{Err: errSilent})
	for range 3 {
		if connect(15 * time.Second) {
			t.Error("healthy after 15 s, although the last stream was up that long without a response")
		}
		r.do(Closed{Err: errSilent})
	}
	if !connect(30 * time.Second) {
		t.Error("not healthy after 30 s")
	}
	r.pass(time.Hour)
	r.do(Closed{Err: errSilent})
	if connect(30*time.Second - 1) {
		t.Error("healthy before 30 s are over")
	}
	r.do(Closed{Err: errSilent})
	if !connect(30 * time.Second) {
		t.Error("not healthy after 30 s, the most that it takes")
	}
	r.do(Received{Type: clusters, Nonce: "n"}, Closed{})
	if !connect(time.Second) {
		t.Error("not healthy after 1 s, although the last stream had a response")
	}
}
