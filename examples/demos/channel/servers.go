package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/serve"
)

// An authority is a control plane that receives load reports.
type authority struct {
	name     string
	plane    *story.ControlPlane
	reported chan struct{} // has an element after a report
}

func newAuthority(name string) (*authority, error) {
	a := &authority{name: name, reported: make(chan struct{}, 1)}
	var err error
	a.plane, err = story.NewControlPlane(serve.WithLoad(time.Second, func(serve.LoadReport) {
		select {
		case a.reported <- struct{}{}:
		default:
		}
	}))
	return a, err
}

// A backend is a server that answers with its name.
type backend struct {
	name   string
	addr   string // set once it has started
	server *grpc.Server
}

func newBackend(ctx context.Context, name string) (*backend, error) {
	b := &backend{name: name, addr: "127.0.0.1:0"}
	err := b.start(ctx)
	return b, err
}

// start starts the server, on the same address as before.
func (b *backend) start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", b.addr)
	if err != nil {
		return err
	}
	b.addr = l.Addr().String()
	b.server = grpc.NewServer(grpc.UnknownServiceHandler(b.answer))
	go func(s *grpc.Server) { _ = s.Serve(l) }(b.server) // it ends with stop
	return nil
}

func (b *backend) stop() { b.server.Stop() }

// answer receives a message and sends the server's name.
func (b *backend) answer(_ any, s grpc.ServerStream) error {
	if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		return err
	}
	return s.SendMsg(wrapperspb.String(b.name))
}

// build starts the control planes and the servers, and publishes all resources.
func (s *stage) build(ctx context.Context) (err error) {
	if s.east, err = newAuthority("east.example"); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	if s.west, err = newAuthority("west.example"); err != nil { //nolint:contextcheck // likewise
		return err
	}
	for name, b := range map[string]**backend{"stable-1": &s.first, "stable-2": &s.second, "canary": &s.canary} {
		if *b, err = newBackend(ctx, name); err != nil {
			return fmt.Errorf("server %s: %w", name, err)
		}
	}
	return errors.Join(s.publishListener(""), s.publishRest())
}

// close stops everything that build started.
func (s *stage) close() {
	for _, a := range []*authority{s.east, s.west} {
		if a != nil && a.plane != nil {
			a.plane.Stop()
		}
	}
	for _, b := range []*backend{s.first, s.second, s.canary} {
		if b != nil {
			b.stop()
		}
	}
}
