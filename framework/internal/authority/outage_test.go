package authority

import (
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A kindred error is like others of its kind, regardless of its text.
type kindred struct{ kind, text string }

func (k kindred) Error() string { return k.kind + ": " + k.text }

func (k kindred) Is(target error) bool {
	other, ok := target.(kindred)
	return ok && other.kind == k.kind
}

// Watchers are notified once per kind of error if a server cannot be reached. Later watchers
// get the newest error.
func TestOutageIsToldOnceOfAKind(t *testing.T) {
	r := newRig(t)
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	r.respond(partial, ok(u))
	for _, port := range []string{"1", "2", "3"} {
		r.do(evLost{Err: kindred{"refused", "port " + port}})
	}
	a.wants(t, 2, u, resource.ErrTransport)
	late := r.watch(partial, "late")
	late.wants(t, 1, nil, resource.ErrTransport)
	if !strings.Contains(late.state.Err.Error(), "port 3") {
		t.Errorf("error = %v, want the newest", late.state.Err)
	}
	r.do(evLost{Err: kindred{"denied", "port 4"}})
	r.do(evLost{Err: kindred{"denied", "port 5"}})
	a.wants(t, 3, u, resource.ErrTransport)
	late.wants(t, 2, nil, resource.ErrTransport)
}

// The error of another server is reported, even if it is of the same kind.
func TestOutageOfAnotherServerIsTold(t *testing.T) {
	r := newRigOf(t, newServer(t, "first.test:1"), newServer(t, "second.test:1"))
	a := r.watch(partial, "a")
	u := r.update("a", "1")
	r.do(r.from(0, ok(u)))
	r.do(evLost{Server: 0, Err: kindred{"refused", "port 1"}})
	a.wants(t, 2, u, resource.ErrTransport)
	r.watch(partial, "b")
	r.do(evLost{Server: 1, Err: kindred{"refused", "port 2"}})
	a.wants(t, 3, u, resource.ErrTransport)
	if !strings.Contains(a.state.Err.Error(), "second.test:1") {
		t.Errorf("error = %v, want that of the second server", a.state.Err)
	}
	r.do(evLost{Server: 0, Err: kindred{"refused", "port 3"}})
	r.do(evLost{Server: 1, Err: kindred{"refused", "port 4"}})
	a.wants(t, 3, u, resource.ErrTransport)
}
