package ads

import (
	"slices"
	"testing"
	"time"
)

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
	canonical := Accepted{Name: "real", Version: "1", Aliases: []string{"alias", "other"}}
	for _, c := range []struct {
		name  string
		watch string
		then  []Event
		asks  string
	}{
		{"an alias that is not watched any longer, and is again", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{canonical}},
			Unsubscribe{clusters, "alias"},
			Closed{},
			Subscribe{clusters, "alias"},
		}, "[alias]"},
		{"another alias", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{canonical}}, Closed{}, Subscribe{clusters, "other"},
		}, "[alias other]"},
		{"the name behind an alias", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{canonical}}, Closed{}, Subscribe{clusters, "real"},
		}, "[alias real]"},
		{"a version without the alias that is watched", "alias", []Event{
			Received{Type: clusters, Accepted: []Accepted{canonical}}, Received{Type: clusters, Accepted: accepted("real", "2")}, Closed{},
		}, "[alias]"},
		{"a heartbeat of what has expired", "*", []Event{
			Received{Type: clusters, Accepted: accepted("a", "1")},
			Forget{clusters, "a"},
			Received{Type: clusters, Accepted: []Accepted{{Name: "a", Version: "1", Heartbeat: true}}},
			Closed{},
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

	// A heartbeat, and a member that is subscribed to by its name, too.
	r.do(Received{Type: clusters, Nonce: "9", Accepted: accepted("b", "3", "c", "1", "d", "1")})
	r.reopen()
	r.do(Received{Type: clusters, Nonce: "10", Accepted: []Accepted{{Name: "b", Version: "3", Heartbeat: true}}})
	r.do(Subscribe{clusters, "m"}, Received{Type: clusters, Nonce: "11", Accepted: accepted("m", "1")})
	if s := stale(time.Hour); s != nil {
		t.Errorf("%v are stale", s)
	}
	r.do(Subscribe{clusters, "member"}, Received{Type: clusters, Nonce: "12", Accepted: accepted("member", "1")})
	r.do(Unsubscribe{clusters, "member"}) // the wildcard has it still
	r.reopen()
	r.do(Subscribe{clusters, "member"})
	r.pass(time.Second)
	r.sent()
	r.do(Received{Type: clusters, Nonce: "13", Accepted: accepted("member", "1")})
	if s := stale(time.Hour); s != nil {
		t.Errorf("%v are stale", s)
	}
}
