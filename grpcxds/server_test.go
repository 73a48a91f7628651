package grpcxds

import (
	"testing"

	"google.golang.org/grpc/codes"
)

func TestServerServesWhatTheListenerSays(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	if !s.touch() {
		t.Error("a connection got bytes before there was a configuration")
	}
	w.publishListener(s.listener(rds("routes")))
	w.publishRoutes("routes", `virtual_hosts { domains: "*" `+anyRoute+` }`)
	s.awaitServing()
	if st := s.call(s.dial()); st.Code() != codes.OK {
		t.Errorf("%v; want OK", st)
	}
}
