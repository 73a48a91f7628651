// Command server shows a gRPC server that control planes configure. One process has two
// control planes on loopback, a server created with [grpcxds.NewServer], and callers that use
// plain grpc-go.
//
//	go run ./examples/demos/server
//
// It ends within seconds. Its exit code is 0 only if every printed event happened. Read
// [stage.start] for the lines that differ from any other gRPC server, and chapters.go for the
// events.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// timeout is the limit for the whole run.
const timeout = 30 * time.Second

func main() {
	story.Main("server", timeout, run)
}

// A stage has the state of the chapters.
type stage struct {
	story.Teller
	east, west *story.ControlPlane // one for each authority
	keys       *keys
	env        *xdsforge.Env
	server     *grpcxds.Server
	addr       string
	listener   string       // the name of the server's Listener
	modes      chan error   // the serving modes that the server reports; nil means serving
	conns      *connections // of the server
	calls      *grpc.ClientConn
	stream     grpc.ClientStream
	served     chan error
}

func run(ctx context.Context, out io.Writer) (err error) {
	began := time.Now()
	s := &stage{Teller: story.New(out), modes: make(chan error, 10), conns: new(connections), served: make(chan error, 1)}
	s.Title("xdsforge server: a gRPC server, configured by two control planes")
	if s.east, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	defer s.east.Stop()
	if s.west, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // likewise
		return err
	}
	defer s.west.Stop()
	dir, err := os.MkdirTemp("", "xdsforge-server-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // an empty folder may remain
	if s.keys, err = newKeys(dir); err != nil {
		return err
	}
	defer s.close() //nolint:contextcheck // it ends what it closes
	if err := s.Play(ctx, s.start, s.firstConfiguration, s.denied, s.rotation, s.liveUpdate, s.darkness, s.stop); err != nil {
		return err
	}
	s.Title(fmt.Sprintf("Everything was seen, in %.1f s.", time.Since(began).Seconds()))
	return nil
}

// start creates the server. A program with a bootstrap in its environment calls
// grpcxds.NewServer instead of grpc.NewServer, and grpcxds.Creds instead of grpc.Creds.
// This example has its own bootstrap and receives the serving modes.
func (s *stage) start(ctx context.Context) error {
	s.Chapter("A server without a configuration")
	config, err := bootstrap.Parse(s.bootstrap())
	if err != nil {
		return err
	}
	if s.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register)); err != nil {
		return err
	}
	s.server, err = grpcxds.ServerConfig{
		Env:         s.env,
		Logger:      slog.New(slog.DiscardHandler), // the story prints the modes
		ModeChanged: func(c grpcxds.ModeChange) { s.modes <- c.Err },
	}.NewServer(grpcxds.Creds(nil), grpc.StatsHandler(s.conns), grpc.UnknownServiceHandler(answer))
	if err != nil {
		return err
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = lis.Addr().String()
	go func() { s.served <- s.server.Serve(lis) }() //nolint:contextcheck // it ends with GracefulStop

	name, err := config.ServerListenerName(s.addr)
	if err != nil {
		return err
	}
	s.listener = name.String()
	s.Line("it listens on %s, and subscribes to", s.addr)
	s.Line("%s", s.listener)
	n, err := touch(ctx, s.addr)
	if err != nil || n != 0 {
		return fmt.Errorf("a connection received %d bytes and %w; want no bytes and EOF", n, story.OrNone(err))
	}
	s.Seen("the server does not serve yet: it accepts a connection and closes it without a byte")
	return nil
}

// bootstrap returns a bootstrap as an operator would write it: a template for the names of
// Listeners, an authority for each control plane, and the paths of the certificates.
func (s *stage) bootstrap() []byte {
	const channel = `"channel_creds": [{"type": "insecure"}]`
	return fmt.Appendf(nil, `{
  "node": {"id": "shop-1"},
  "server_listener_resource_name_template": "xdstp://east.example/envoy.config.listener.v3.Listener/server/%%s",
  "authorities": {
    "east.example": {"xds_servers": [{"server_uri": %q, %s}]},
    "west.example": {"xds_servers": [{"server_uri": %q, %s}]}
  },
  "certificate_providers": {"files": {"plugin_name": "file_watcher", "config": %s}}
}`, s.east.Addr(), channel, s.west.Addr(), channel, s.keys.config())
}

// close stops the rest if the run fails.
func (s *stage) close() {
	if s.calls != nil {
		_ = s.calls.Close()
	}
	if s.server != nil {
		s.server.Stop()
	}
	if s.env != nil {
		_ = s.env.Close()
	}
}
