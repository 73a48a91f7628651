package ads

import (
	"fmt"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// The server ignores the requests that end the wildcard if a response crosses them. An ACK
// without names would then mean the wildcard again.
func TestWildcardIsEndedAnewAfterAResponseThatCrossed(t *testing.T) {
	for _, again := range []bool{false, true} {
		r := newRig(t)
		r.open(clusters, resource.Wildcard)
		r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
		r.next()
		r.do(Unsubscribe{clusters, resource.Wildcard})
		r.next("*")
		r.next()
		ev := Received{Type: clusters, Version: "2", Nonce: "n2"}
		r.do(ev)
		if again { // before its ACK leaves
			r.do(Subscribe{clusters, resource.Wildcard})
		}
		r.next()
		if s := r.next("*"); s.Nonce != "n2" {
			t.Errorf("nonce = %q, want n2", s.Nonce)
		}
		r.next()
		if again {
			r.next("*")
		}
		r.pass(time.Second)
		r.silent()
	}
}

func TestWildcardIsEndedAnewAFewTimes(t *testing.T) {
	r := newRig(t)
	r.open(clusters, resource.Wildcard)
	r.do(Unsubscribe{clusters, resource.Wildcard})
	r.next("*")
	r.next()
	for i := range maxAnew + 3 {
		r.do(Received{Type: clusters, Version: "1", Nonce: fmt.Sprint(i)})
		r.next()
		if i < maxAnew {
			r.next("*")
			r.next()
		}
		r.pass(time.Second)
		r.silent()
	}
}

// A response may cross the requests that end a wildcard and those that begin it again. The
// server has seen none of them, so it does not send the members again.
func TestWildcardThatIsTakenAgainIsDroppedAnewOnce(t *testing.T) {
	r := newRig(t)
	r.open(clusters, resource.Wildcard)
	r.do(Received{Type: clusters, Version: "1", Nonce: "n1"})
	r.next()
	r.do(Unsubscribe{clusters, resource.Wildcard})
	r.next("*")
	r.next()
	r.do(Subscribe{clusters, resource.Wildcard})
	r.next("*")
	for i := range 3 {
		r.do(Received{Type: clusters, Version: "2", Nonce: fmt.Sprint("n2", i)})
		r.next("*")
		if i == 0 {
			r.next()
			r.next("*")
		}
		r.pass(time.Second)
		r.silent()
	}
}

// An ACK with names ends the wildcard.
func TestNamesEndTheWildcardToo(t *testing.T) {
	r := newRig(t)
	r.open(clusters, resource.Wildcard)
	r.do(Unsubscribe{clusters, resource.Wildcard}, Subscribe{clusters, "a"})
	r.next("*")
	r.next()
	r.next("a")
	r.do(Unsubscribe{clusters, "a"}, Received{Type: clusters, Version: "1", Nonce: "1"})
	r.next("a")
	r.next()
	r.pass(time.Second)
	r.silent()
}
