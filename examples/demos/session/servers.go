package main

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/examples/demos/story"
)

// A server answers with its name.
type server struct {
	name, addr string
	grpc       *grpc.Server
}

func newServer(ctx context.Context, name string) (*server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", name, err)
	}
	s := &server{name: name, addr: l.Addr().String()}
	s.grpc = grpc.NewServer(grpc.UnknownServiceHandler(s.answer))
	go func() { _ = s.grpc.Serve(l) }() // it ends with Stop
	return s, nil
}

func (s *server) answer(_ any, stream grpc.ServerStream) error {
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		return err
	}
	return stream.SendMsg(wrapperspb.String(s.name))
}

// build starts the control plane and the servers, and publishes all resources.
func (s *stage) build(ctx context.Context) (err error) {
	if s.plane, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	for _, name := range []string{"one", "two", "three"} {
		if s.servers[name], err = newServer(ctx, name); err != nil {
			return err
		}
	}
	return s.publish()
}

// close stops everything that build started.
func (s *stage) close() {
	if s.plane != nil {
		s.plane.Stop()
	}
	for _, server := range s.servers {
		if server != nil {
			server.grpc.Stop()
		}
	}
}
