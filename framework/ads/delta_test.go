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

func TestDeltaAnswersEveryResponse(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Nonce: "1"}, Received{Type: clusters, Nonce: "2", Reject: "bad"}, Subscribe{clusters, "b"})
	one := r.sent()
	r.asks(one, "[b]", "[]", nil) // an ACK may change subscriptions
	two := r.sent()
	if one.Nonce != "1" || one.Reject != "" || two.Nonce != "2" || two.Reject != "bad" {
		t.Errorf("answers = %+v, %+v", one, two)
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

func TestDeltaReconnectTellsWhatIsHeld(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, "a", "b", "c", "d", "e")
	r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("a", "1", "b", "1", "c", "1", "d", "1", "stranger", "1")})
	r.do(Received{Type: clusters, Nonce: "2", Accepted: accepted("b", "2"), Rejected: []string{"a"}, Reject: "bad a"})
	r.do(Received{Type: clusters, Nonce: "3", Removed: []string{"c"}})
	r.do(Unsubscribe{clusters, "d"}, Unsubscribe{clusters, "e"}, Subscribe{clusters, "e"})
	s := r.reopen()
	r.asks(s, "[a b c e]", "[]", map[string]string{"a": "1", "b": "2"})
	if !s.First || s.Nonce != "" {
		t.Errorf("first request = %+v; want the node and no nonce", s)
	}
	r.do(Forget{clusters, "b"})
	r.asks(r.reopen(), "[a b c e]", "[]", map[string]string{"a": "1"})
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

func TestDeltaGlobsAndAliasesAreHeld(t *testing.T) {
	const glob, member, other = "xdstp://e/envoy.config.cluster.v3.Cluster/g/*", "xdstp://e/envoy.config.cluster.v3.Cluster/g/m", "xdstp://e/envoy.config.cluster.v3.Cluster/h/m"
	r := newDeltaRig(t, Delta)
	r.open(clusters, glob, "alias")
	r.do(Received{Type: clusters, Nonce: "1", Accepted: append(accepted(member, "1", other, "1"), Accepted{Name: "real", Version: "2", Aliases: []string{"alias"}})})
	r.asks(r.reopen(), "[alias "+glob+"]", "[]", map[string]string{member: "1", "real": "2"})
	r.do(Unsubscribe{clusters, glob})
	r.asks(r.reopen(), "[alias]", "[]", map[string]string{"real": "2"})
}

// What is claimed to be held and is not would never be sent again.
func TestDeltaClaimsNothingThatIsNotHeld(t *testing.T) {
	const member = "xdstp://e/envoy.config.cluster.v3.Cluster/m"
	real := Accepted{Name: "real", Version: "1", Aliases: []string{"alias", "other"}}
	for _, c := range []struct {
		name  string
		watch string
		then  []Event
		asks  string
	}{
		{"an alias that is not watched any longer, and is again", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{real}},
			Unsubscribe{clusters, "alias"}, Closed{}, Subscribe{clusters, "alias"},
		}, "[alias]"},
		{"another alias", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{real}}, Closed{}, Subscribe{clusters, "other"},
		}, "[alias other]"},
		{"the name behind an alias", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{real}}, Closed{}, Subscribe{clusters, "real"},
		}, "[alias real]"},
		{"a version without the alias that is watched", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{real}}, Received{Type: clusters, Accepted: accepted("real", "2")}, Closed{},
		}, "[alias]"},
		{"a heartbeat of what has expired", "*", []Event{
			Received{Type: clusters, Accepted: accepted("a", "1")}, Forget{clusters, "a"},
			Received{Type: clusters, Accepted: []Accepted{{Name: "a", Version: "1", Heartbeat: true}}}, Closed{},
		}, "[]"},
		{"a new-style name under the wildcard", "*", []Event{
			Received{Type: clusters, Accepted: accepted(member, "1")}, Closed{}, Subscribe{clusters, member},
		}, "[* " + member + "]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newDeltaRig(t, Delta)
			r.open(clusters, c.watch)
			r.do(c.then...)
			r.now, _ = r.m.NextDeadline()
			r.do(Turn{}, Opened{})
			r.asks(r.sent(), c.asks, "[]", nil)
		})
	}
}

// Some servers omit what was removed while nobody was connected (istio#41494). One
// that also sends again what it was told is known does not look at that at all.
func TestDeltaStaleAfterReconnect(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, "a", "b", "c", "d")
	r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("a", "1", "b", "1", "c", "1", "d", "1")})
	stale := func(d time.Duration) []string {
		r.pass(d)
		for _, e := range r.do(Turn{}) {
			if s, ok := e.(Stale); ok {
				return s.Names
			}
		}
		return nil
	}
	r.reopen()
	r.do(Received{Type: clusters, Nonce: "2", Accepted: accepted("a", "2")}) // that is news
	if s := stale(time.Hour); s != nil {
		t.Errorf("%v are stale although the server knows what is held", s)
	}
	r.reopen()
	r.do(Received{Type: clusters, Nonce: "3", Accepted: accepted("a", "2")})
	r.do(Received{Type: clusters, Nonce: "4", Accepted: accepted("b", "3"), Removed: []string{"c"}})
	r.do(Turn{}, Written{}, Turn{}, Written{})
	if at, ok := r.m.NextDeadline(); !ok || at.Sub(r.now) != 15*time.Second {
		t.Errorf("NextDeadline = %v, %v; want in 15 s", at, ok)
	}
	if s := stale(15 * time.Second); !slices.Equal(s, []string{"d"}) {
		t.Errorf("stale = %v, want [d]", s)
	}
	r.asks(r.reopen(), "[a b c d]", "[]", map[string]string{"a": "2", "b": "3"})

	// What is sent again for another reason proves nothing.
	r.do(Received{Type: clusters, Nonce: "5", Accepted: []Accepted{{Name: "a", Version: "2", Heartbeat: true}}})
	r.do(Unsubscribe{clusters, "b"}, Subscribe{clusters, "b"})
	r.pass(time.Second)
	r.sent()
	r.sent()
	r.do(Received{Type: clusters, Nonce: "6", Accepted: accepted("b", "3")})
	if s := stale(time.Hour); s != nil {
		t.Errorf("%v are stale", s)
	}
	r.reopen()
	r.do(Subscribe{clusters, "*"})
	r.pass(time.Second)
	r.sent()
	r.do(Received{Type: clusters, Nonce: "7", Accepted: accepted("a", "2")}) // as a member
	if s := stale(time.Hour); s != nil {
		t.Errorf("%v are stale", s)
	}
	r.reopen()
	r.do(Received{Type: clusters, Nonce: "8", Accepted: accepted("a", "2"), Rejected: []string{"b"}})
	if s := stale(time.Hour); s != nil {
		t.Errorf("%v are stale", s)
	}
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
