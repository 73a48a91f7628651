package grpcxds

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// A server accepts inlined routes that name no cluster, and their calls fail (A36). Calls of other
// routes succeed.
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

// The client rejects a RouteConfiguration whose route names no cluster, also for a server, because
// an RDS resource does not tell who reads it.
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
