package ads

import (
	"fmt"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// istiod never reports the removal of a member that the client unsubscribed from by name.
func TestNameLingersWhileItsCollectionLasts(t *testing.T) {
	const glob, member = "xdstp://e/t/*", "xdstp://e/t/m"
	for _, c := range []struct{ collection, name string }{{resource.Wildcard, "m"}, {glob, member}} {
		r := newDeltaRig(t, Delta)
		r.open(clusters, c.collection, c.name, "xdstp://e/other/n")
		r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted(c.name, "1", "xdstp://e/other/n", "1")})
		r.sent()
		r.do(Unsubscribe{clusters, c.name})
		r.pass(time.Minute)
		r.silent()
		r.do(Unsubscribe{clusters, "xdstp://e/other/n"}) // of no collection
		r.pass(time.Minute)
		r.asks(r.sent(), "[]", "[xdstp://e/other/n]", nil)

		r.do(Subscribe{clusters, c.name}, Unsubscribe{clusters, c.name})
		r.pass(time.Minute)
		r.silent()
		r.do(Subscribe{clusters, c.name})
		r.pass(time.Minute)
		r.asks(r.sent(), "[]", "["+c.name+"]", nil) // so that every server sends it again
		r.asks(r.sent(), "["+c.name+"]", "[]", nil)

		r.do(Unsubscribe{clusters, c.name}, Unsubscribe{clusters, c.collection})
		r.pass(time.Minute)
		s := r.sent()
		r.asks(s, "[]", fmt.Sprint([]string{c.collection, c.name}), nil)
		r.do(Subscribe{clusters, c.name})
		r.pass(time.Minute)
		r.asks(r.sent(), "["+c.name+"]", "[]", nil) // the server has seen it dropped
		r.silent()
	}
}

func TestNameWithoutResourceDoesNotLinger(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, resource.Wildcard, "m")
	r.do(Received{Type: clusters, Nonce: "1", Removed: []string{"m"}})
	r.sent()
	r.do(Unsubscribe{clusters, "m"})
	r.pass(time.Minute)
	r.asks(r.sent(), "[]", "[m]", nil)
}

func TestNextStreamDoesNotAskForLingeringNames(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, resource.Wildcard, "m", "n")
	r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("m", "1", "n", "1")})
	r.sent()
	r.do(Unsubscribe{clusters, "m"})
	r.pass(time.Minute)
	r.silent()
	r.asks(r.reopen(), "[* n]", "[]", map[string]string{"m": "1", "n": "1"})
	r.do(Unsubscribe{clusters, resource.Wildcard})
	r.pass(time.Minute)
	r.asks(r.sent(), "[]", "[*]", nil)
}

func TestLingeringNamesAreBounded(t *testing.T) {
	r := newDeltaRig(t, Delta)
	r.open(clusters, resource.Wildcard)
	names := r.m.of(clusters).(*deltaNames)
	r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("one", "1", "other", "1")}, Subscribe{clusters, "one"}, Subscribe{clusters, "other"})
	for range 2 { // the ACK, and the names
		r.sent()
	}
	names.lingering = make(map[string]struct{}, maxLingering)
	for i := range maxLingering - 1 {
		names.lingering[fmt.Sprint(i)] = struct{}{}
	}
	r.do(Unsubscribe{clusters, "one"})
	r.pass(time.Minute)
	r.silent()
	r.do(Unsubscribe{clusters, "other"})
	r.pass(time.Minute)
	r.asks(r.sent(), "[]", "[other]", nil)
}
