package grpcxds

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

// A control plane may revert a Listener before its routes have arrived. The Listener in use then
// stays: no connection is drained, and calls follow its routes.
func TestListenerThatIsTakenBack(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	before := s.listener(rds("routes"))
	w.publishRoutes("routes", allHosts)
	w.publishListener(before)
	s.awaitServing()
	c := s.dial()
	ss := s.openStream(c)
	streams := w.plane.Streams()
	w.publishListener(s.listener(rds("late"))) // its routes never come
	w.eventually("routes are asked for", func() bool { return w.asked("late") })
	w.plane.Stop() // the client drops the state of the stream
	if err := w.plane.Restart(); err != nil {
		t.Fatal(err)
	}
	w.eventually("there is another stream", func() bool { return w.plane.Streams() > streams && w.asked("late") })
	w.publishListener(before)
	w.eventually("they are not asked for any more", func() bool { return !w.asked("late") })

	w.publishRoutes("routes", `virtual_hosts { domains: "*" }`)
	w.eventually("calls go by newer routes", func() bool { return s.call(c).Code() == codes.Unavailable })
	w.publishRoutes("routes", allHosts)
	w.eventually("calls succeed", func() bool { return s.call(c).Code() == codes.OK })
	ping(t, ss)
	finish(t, ss)
	if n := len(s.events); n > 0 {
		t.Errorf("%d events; want none", n)
	}
}

// asked reports whether the last request subscribes to these routes.
func (w *world) asked(routes string) bool {
	for _, r := range slices.Backward(w.plane.Requests()) {
		if strings.HasSuffix(r.GetTypeUrl(), routeMessage) {
			return slices.Contains(r.GetResourceNames(), routes)
		}
	}
	return false
}
