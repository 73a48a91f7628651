package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// firstConfiguration publishes the server's Listener and, on the other control plane, its
// routes.
func (s *stage) firstConfiguration(ctx context.Context) error {
	s.Chapter("A Listener from east.example, routes from west.example")
	if err := s.setListener("first"); err != nil {
		return err
	}
	s.Line("the Listener has arrived; it names %s", routesName)
	if err := s.setRoutes(); err != nil {
		return err
	}
	if err := s.awaitServing(ctx); err != nil {
		return err
	}
	s.Seen("with its routes, the server serves")
	var err error
	if s.calls, err = s.keys.dial(s.addr, "alice"); err != nil {
		return err
	}
	if err := call(ctx, s.calls); err != nil {
		return err
	}
	s.Seen("alice calls it over mutual TLS, which the Listener configures; the server's code does not mention TLS")
	return nil
}

// denied makes a call that the RBAC filter denies.
func (s *stage) denied(ctx context.Context) error {
	s.Chapter("Who may call: RBAC")
	mallory, err := s.keys.dial(s.addr, "mallory")
	if err != nil {
		return err
	}
	defer mallory.Close()
	err = call(ctx, mallory)
	if status.Code(err) != codes.PermissionDenied {
		return fmt.Errorf("mallory's call: %w; want PERMISSION_DENIED", orNone(err))
	}
	s.Quote("mallory:", err)
	if err := call(ctx, s.calls); err != nil {
		return err
	}
	s.Seen("the Listener denies mallory, by the certificate; alice may call")
	return nil
}

// rotation replaces the server's certificate.
func (s *stage) rotation(ctx context.Context) error {
	s.Chapter("Another certificate")
	before, err := s.keys.seenBy(ctx, s.addr)
	if err != nil {
		return err
	}
	if err := s.openStream(ctx); err != nil {
		return err
	}
	if err := s.keys.rotate("second"); err != nil {
		return err
	}
	var after string
	if err := until(ctx, func() bool {
		after, err = s.keys.seenBy(ctx, s.addr)
		return err != nil || after != before
	}); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	s.Seen("new connections see the %s certificate, and not the %s", after, before)
	if err := s.ping(); err != nil {
		return err
	}
	s.Seen("alice's earlier stream continues")
	return nil
}

// liveUpdate replaces the Listener while a stream is open.
func (s *stage) liveUpdate(ctx context.Context) error {
	s.Chapter("Another Listener, under an open stream")
	began := s.conns.begun.Load()
	if err := s.setListener("second"); err != nil {
		return err
	}
	var failed error
	if err := until(ctx, func() bool {
		failed = call(ctx, s.calls)
		return failed != nil || s.conns.begun.Load() > began
	}); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	s.Seen("alice's calls have moved to a new connection, and none has failed")
	ended := s.conns.ended.Load()
	if err := s.ping(); err != nil {
		return err
	}
	_ = s.stream.CloseSend() // it ends now
	if _, err := s.stream.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream ended with %w; want EOF", orNone(err))
	}
	if err := until(ctx, func() bool { return s.conns.ended.Load() > ended }); err != nil {
		return err
	}
	s.Seen("the stream continued on the old connection to its end; only then did the server close that connection")
	return nil
}

// darkness stops both control planes.
func (s *stage) darkness(ctx context.Context) error {
	s.Chapter("No control plane at all")
	s.east.Stop()
	s.west.Stop()
	bob, err := s.keys.dial(s.addr, "bob")
	if err != nil {
		return err
	}
	defer bob.Close()
	if err := errors.Join(call(ctx, s.calls), call(ctx, bob)); err != nil {
		return err
	}
	if len(s.modes) > 0 {
		return fmt.Errorf("the server reported a mode: %w", orNone(<-s.modes))
	}
	s.Seen("the server serves alice, and bob, who connects only now")
	return nil
}

// stop stops the server gracefully.
func (s *stage) stop(ctx context.Context) error {
	s.Chapter("The end")
	s.server.GracefulStop() //nolint:contextcheck // it waits for calls, not for a context
	select {
	case err := <-s.served:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	s.Seen("GracefulStop: no call was aborted, and Serve has returned")
	return nil
}

func (s *stage) awaitServing(ctx context.Context) error {
	select {
	case err := <-s.modes:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the server does not serve: %w", ctx.Err())
	}
}

func (s *stage) openStream(ctx context.Context) (err error) {
	if s.stream, err = testpb.NewTestServiceClient(s.calls).FullDuplexCall(ctx); err != nil {
		return err
	}
	return s.ping()
}

// ping sends a message on the stream and receives the answer.
func (s *stage) ping() error {
	if err := s.stream.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
		return err
	}
	_, err := s.stream.Recv()
	return err
}

// until waits until a condition holds.
func until(ctx context.Context, so func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// orNone returns an error for a message about an expected error, which may be nil.
func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}
