package authority

import (
	"errors"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// What a server says that was fallen back to is over with it: in the delta protocol,
// the primary does not send again what it knows to be there.
func TestErrorsOfTheFallbackEndWithIt(t *testing.T) {
	r := newFallbackRig(t)
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	r.do(r.from(0, ok(u)))
	r.do(evLost{Server: 0, Err: errRefused})
	r.watch(partial, "b")
	r.do(r.from(1, r.bad("a", "bad")))
	if a.state.Update != u || !errors.Is(a.state.Err, resource.ErrInvalid) {
		t.Fatalf("state = %v", a.state)
	}
	r.do(r.from(0, ok(r.update("b", "1"))))
	if a.state.Update != u || a.state.Err != nil || r.state(partial, "a") != Acked {
		t.Errorf("state = %v, want what the primary sent, without the error of another", a.state)
	}
}

// What the primary sent before is missing from its first response, although another
// server was listened to in between.
func TestAbsenceAfterAFallbackRemoves(t *testing.T) {
	r := newFallbackRig(t)
	from := func(server int, results ...Result) Response {
		return Response{Server: server, Type: complete, Results: results}
	}
	a := r.watch(complete, "a")
	r.do(from(0, ok(r.update("a", "1"))))
	r.do(evLost{Server: 0, Err: errRefused})
	r.watch(complete, "b")
	r.do(from(1, ok(r.update("b", "1"))))
	if a.state.Err != nil {
		t.Fatalf("state = %v; the second server has never had it", a.state)
	}
	r.do(from(0, ok(r.update("b", "2"))))
	if !errors.Is(a.state.Err, resource.ErrRemoved) {
		t.Errorf("state = %v, want ErrRemoved", a.state)
	}
}
