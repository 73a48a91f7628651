package grpcxds

import (
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// GracefulStop waits for the calls of all generations.
func TestGracefulStopCoversAllGenerations(t *testing.T) {
	s, conns := counted(t)
	c := s.dial()
	first := s.openStream(c)
	s.nextListener()
	s.eventually("a second connection", func() bool { return s.call(c).Code() == codes.OK && conns.begun.Load() == 2 })
	second := s.openStream(c)
	stopped := make(chan struct{})
	go func() {
		s.GracefulStop()
		close(stopped)
	}()
	if err := <-s.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	s.served <- nil
	for _, ss := range []interface{ CloseSend() error }{first, second} {
		select {
		case <-stopped:
			t.Error("stopped under a call")
		default:
		}
		_ = ss.CloseSend()
	}
	<-stopped
	if conns.ended.Load() != 2 {
		t.Errorf("%d connections have ended; want 2", conns.ended.Load())
	}
	if _, err := listener.Subscribe(s.scope, s.name, func(listener.Event) {}); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("the client is not closed: %v", err)
	}
}

// Stop ends the calls of all generations, and a running GracefulStop.
func TestStopCoversAllGenerations(t *testing.T) {
	s, conns := counted(t)
	c := s.dial()
	first := s.openStream(c)
	s.nextListener()
	s.eventually("a second connection", func() bool { return s.call(c).Code() == codes.OK && conns.begun.Load() == 2 })
	second := s.openStream(c)
	stopped := make(chan struct{})
	go func() {
		s.GracefulStop()
		close(stopped)
	}()
	s.Stop()
	<-stopped
	for _, ss := range []interface{ RecvMsg(any) error }{first, second} {
		if err := ss.RecvMsg(nil); err == nil {
			t.Error("a call goes on")
		}
	}
	s.Stop()
	s.GracefulStop()
}

// The callback for the mode may stop the server.
func TestStopInTheCallback(t *testing.T) {
	w := newWorld(t)
	var s *Server
	made := make(chan struct{})
	done := make(chan struct{})
	site := w.serveWith(func(c *ServerConfig) {
		c.ModeChanged = func(ModeChange) {
			<-made
			s.Stop()
			close(done)
		}
	})
	s = site.Server
	close(made)
	w.publishListener(site.listener(inline(anyRoute)))
	<-done
	if err := <-site.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	site.served <- nil
}

// An error of a socket ends only its own Serve.
func TestServeEndsWithItsSocket(t *testing.T) {
	w := newWorld(t)
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	flaky := &flakyListener{Listener: lis}
	s := w.serveOn(flaky, nil)
	w.publishListener(s.listener(inline(anyRoute)))
	s.awaitServing()
	ss := s.openStream(s.dial())
	if flaky.failures.Load() == 0 {
		t.Error("no failure passed")
	}
	_ = lis.Close()
	if err := <-s.served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v; want %v", err, net.ErrClosed)
	}
	s.served <- nil
	ping(t, ss)
	finish(t, ss)
}

// Serve returns an error after the server has stopped.
func TestServeAfterStop(t *testing.T) {
	w := newWorld(t)
	s, err := ServerConfig{Env: w.env}.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(lis); err != grpc.ErrServerStopped { //nolint:errorlint // as grpc.Server returns it
		t.Errorf("%v; want %v", err, grpc.ErrServerStopped)
	}
}
