package grpcxds

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// A server ends old connections as grpc.Server does: a stream ends after the grace time, and no unary call fails.
func TestMaxConnectionAge(t *testing.T) {
	w := newWorld(t)
	conns := new(connections)
	s := w.serve(grpc.StatsHandler(conns), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 100 * time.Millisecond, MaxConnectionAgeGrace: 100 * time.Millisecond}))
	w.publishListener(s.listener(inline(anyRoute)))
	s.awaitServing()
	c := s.dial()
	if _, err := s.openStream(c).Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("a stream beyond the grace time: %v; want UNAVAILABLE", err)
	}
	s.eventually("the third connection", func() bool {
		if st := s.call(c); st.Code() != codes.OK {
			t.Errorf("a call while connections end: %v", st)
			return true
		}
		return conns.begun.Load() >= 3
	})
}
