package ads

import (
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A control plane may ignore a whole request because of the answer in it. So no request
// both answers a response and changes the names.
func TestAnswersAndChangesAreApart(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	r.do(Received{Type: endpoints, Version: "1", Nonce: "n1"}, Subscribe{endpoints, "b"})
	if ack := r.next("a"); ack.Nonce != "n1" || ack.Version != "1" {
		t.Errorf("first request = %+v, want the ACK of n1", ack)
	}
	if change := r.next("a", "b"); change.Nonce != "n1" || change.Version != "1" {
		t.Errorf("second request = %+v, want one with the newest nonce", change)
	}
	r.do(Received{Type: endpoints, Version: "2", Nonce: "n2", Reject: "bad", Accepted: []Accepted{{Name: "b"}}}, Unsubscribe{endpoints, "a"})
	if nack := r.next("a", "b"); nack.Nonce != "n2" || nack.Reject != "bad" {
		t.Errorf("third request = %+v, want the NACK of n2", nack)
	}
	if change := r.next("b"); change.Nonce != "n2" || change.Reject != "" || change.Version != "1" {
		t.Errorf("fourth request = %+v, want a plain one with the newest nonce", change)
	}
	r.pass(time.Minute)
	r.silent()
}

// With an old version, a request without names that are new makes some servers send all of
// it again. So a NACK stands alone if nothing has changed.
func TestNackStandsAloneWithoutChanges(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a", "b")
	for i, nonce := range []string{"n1", "n2", "n3"} {
		r.do(Received{Type: endpoints, Version: nonce, Nonce: nonce, Reject: "bad", Digest: uint64(i), Bad: []uint64{uint64(i)}})
		if nack := r.next("a", "b"); nack.Reject != "bad" || nack.Nonce != nonce {
			t.Errorf("request = %+v, want the NACK of %s", nack, nonce)
		}
		r.pass(time.Minute)
		r.silent()
	}
}

// A response that crosses a request makes its nonce stale, and the server ignores the names
// in it. The ACK lists them again; after a NACK, a plain request does.
func TestOvertakenChangeIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		crosses Received
		follows bool
	}{
		{"a NACK that says nothing of the name", Received{Reject: "bad", Accepted: []Accepted{{Name: "a"}}}, true},
		{"a NACK of the name", Received{Reject: "bad", Rejected: []string{"b"}}, false},
		{"a NACK beside the name", Received{Reject: "bad", Rejected: []string{"a"}, Accepted: []Accepted{{Name: "b"}}}, false},
		{"an ACK", Received{Accepted: []Accepted{{Name: "a"}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.open(endpoints, "a")
			r.do(Received{Type: endpoints, Version: "1", Nonce: "n1"})
			r.next("a")
			r.do(Subscribe{endpoints, "b"})
			r.next("a", "b")
			if !r.m.Curious(endpoints) {
				t.Error("the machine does not ask which resources a response has")
			}
			c.crosses.Type, c.crosses.Version, c.crosses.Nonce = endpoints, "2", "n2"
			r.do(c.crosses)
			if answer := r.next("a", "b"); answer.Nonce != "n2" || answer.Reject != c.crosses.Reject {
				t.Errorf("answer = %+v", answer)
			}
			if c.follows {
				if s := r.next("a", "b"); s.Nonce != "n2" || s.Reject != "" {
					t.Errorf("request = %+v, want a plain one with the newest nonce", s)
				}
			}
			r.pass(time.Minute)
			r.silent()
		})
	}
}

// The repetition of overdue names takes over from the plain request after each NACK.
func TestNameThatIsOvertakenForLongIsForgotten(t *testing.T) {
	r := newRig(t)
	r.open(endpoints, "a")
	r.do(Received{Type: endpoints, Version: "1", Nonce: "n1"})
	r.next("a")
	r.do(Subscribe{endpoints, "b"})
	r.next("a", "b")
	r.pass(time.Minute)
	r.do(Received{Type: endpoints, Version: "2", Nonce: "n2", Reject: "bad"})
	r.next("a", "b")
	r.silent()
	if r.m.Curious(endpoints) {
		t.Error("the machine still asks which resources a response has")
	}
}

// A server may remember that it sent a resource as a member of a collection, and sends it
// again only after a request without both.
func TestMemberIsAskedForApartFromTheEndOfItsCollection(t *testing.T) {
	glob := "xdstp://a/envoy.config.cluster.v3.Cluster/all/*"
	for _, c := range []struct {
		collection, member string
		drops              [][]string
	}{
		{resource.Wildcard, "m", [][]string{{resource.Wildcard}, nil}},
		{glob, "xdstp://a/envoy.config.cluster.v3.Cluster/all/m", [][]string{nil}},
	} {
		for _, memberFirst := range []bool{false, true} {
			r := newRig(t)
			r.open(clusters, c.collection)
			r.do(Received{Type: clusters, Version: "1", Nonce: "n1", Accepted: []Accepted{{Name: c.member}}})
			r.pass(time.Second)
			r.sent()
			if memberFirst {
				r.do(Subscribe{clusters, c.member}, Unsubscribe{clusters, c.collection})
			} else {
				r.do(Unsubscribe{clusters, c.collection}, Subscribe{clusters, c.member})
			}
			for _, names := range c.drops {
				r.next(names...)
			}
			r.next(c.member)
			r.pass(time.Minute)
			r.silent()
		}
	}
}

// The same holds for a collection that takes the place of a name: the server may remember
// the resource, which the client has dropped.
func TestCollectionIsAskedForApartFromTheEndOfAMember(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "m", "n")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next("m", "n")
	r.do(Unsubscribe{clusters, "m"}, Subscribe{clusters, resource.Wildcard})
	r.next("n")
	r.next(resource.Wildcard, "n")
	r.pass(time.Minute)
	r.silent()
}

func TestDeltaMemberIsUnsubscribedFromBeforeItIsAskedForByName(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, resource.Wildcard)
	r.do(Received{Type: clusters, Nonce: "1", Accepted: []Accepted{{Name: "m", Version: "1"}, {Name: "n", Version: "1"}}})
	r.asks(r.sent(), "[]", "[]", nil)
	r.pass(time.Second)
	r.do(Unsubscribe{clusters, resource.Wildcard}, Subscribe{clusters, "m"})
	r.asks(r.sent(), "[*]", "[]", nil) // go-control-plane keeps a wildcard that was not spelled
	r.asks(r.sent(), "[]", "[* m]", nil)
	r.asks(r.sent(), "[m]", "[]", nil)
	r.pass(time.Second)
	r.do(Subscribe{clusters, "n"})
	r.asks(r.sent(), "[]", "[n]", nil)
	r.asks(r.sent(), "[n]", "[]", nil)
	r.do(Subscribe{clusters, "o"})
	r.pass(time.Second)
	r.asks(r.sent(), "[o]", "[]", nil)
	r.silent()
}

// A response that crosses the request for a wildcard does not answer it, and its ACK may be
// crossed, too. So a plain request follows each NACK for a while.
func TestOvertakenWildcardIsSentAgainAfterANack(t *testing.T) {
	r := newRig(t)
	r.open(clusters, "a")
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next("a")
	r.do(Subscribe{clusters, resource.Wildcard})
	r.next(resource.Wildcard, "a")
	r.do(Received{Type: clusters, Version: "2", Nonce: "n2", Accepted: []Accepted{{Name: "a"}}})
	r.next(resource.Wildcard, "a")
	r.do(Received{Type: clusters, Version: "3", Nonce: "n3", Reject: "bad", Rejected: []string{"a"}})
	if nack := r.next(resource.Wildcard, "a"); nack.Reject == "" {
		t.Errorf("request = %+v, want the NACK", nack)
	}
	if plain := r.next(resource.Wildcard, "a"); plain.Nonce != "n3" || plain.Reject != "" {
		t.Errorf("request = %+v, want a plain one with the newest nonce", plain)
	}
	r.pass(time.Minute)
	r.silent()
}
