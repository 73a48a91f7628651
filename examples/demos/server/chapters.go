package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge/examples/demos/story"
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
	if err := story.AwaitServing(ctx, s.modes); err != nil {
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
		return fmt.Errorf("mallory's call: %w; want PERMISSION_DENIED", story.OrNone(err))
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
	if err := story.Until(ctx, func() bool {
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
	if err := story.Until(ctx, func() bool {
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
	if err := s.stream.RecvMsg(new(emptypb.Empty)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream ended with %w; want EOF", story.OrNone(err))
	}
	if err := story.Until(ctx, func() bool { return s.conns.ended.Load() > ended }); err != nil {
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
		return fmt.Errorf("the server reported a mode: %w", story.OrNone(<-s.modes))
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

func (s *stage) openStream(ctx context.Context) (err error) {
	if s.stream, err = s.calls.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method); err != nil {
		return err
	}
	return s.ping()
}

// ping sends a message on the stream and receives the answer.
func (s *stage) ping() error {
	if err := s.stream.SendMsg(new(emptypb.Empty)); err != nil {
		return err
	}
	return s.stream.RecvMsg(new(emptypb.Empty))
}
