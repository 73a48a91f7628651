package grpcxds

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// Routes within a server's Listener that name no cluster are accepted, and their calls
// fail (A36). Other routes are served.
func TestInlineRoutesWithoutACluster(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	w.publishListener(s.listener(inline(`routes { match { prefix: "/grpc.testing.TestService/Empty" } route { cluster: "" } } ` + anyRoute)))
	s.awaitServing()
	if st := s.call(s.dial()); st.Code() != codes.Unavailable {
		t.Errorf("%v; want UNAVAILABLE", st)
	}
	finish(t, s.openStream(s.dial()))
	if r := w.plane.Rejections(); len(r) > 0 {
		t.Errorf("rejected: %q", r)
	}
}

// A RouteConfiguration whose route names no cluster is rejected, also where a server
// reads it: the reader of an RDS resource is not known.
func TestRoutesWithoutACluster(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	w.publishRoutes("routes", `virtual_hosts { domains: "*" routes { match { prefix: "/other" } route { cluster: "" } } `+anyRoute+` }`)
	w.publishListener(s.listener(rds("routes")))
	s.awaitServing()
	if st := s.call(s.dial()); st.Code() != codes.Unavailable {
		t.Errorf("%v; want UNAVAILABLE", st)
	}
	w.eventually("the routes are rejected", func() bool { return len(w.plane.Rejections()) > 0 })
}
