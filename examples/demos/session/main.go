// Command session shows sessions of a gRPC channel that stay on their endpoint (gRFCs A55, A60, A61, A75).
//
//	go run ./examples/demos/session
//
// One process has the control plane, the servers, and the client. It ends within seconds. Its exit code is 0 only if
// every printed event happened. Read chapters.go for the events, and resources.go for the configuration.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// timeout is the limit for the whole run.
const timeout = 45 * time.Second

func main() {
	story.Main("session", timeout, run)
}

// A stage has the state of the chapters.
type stage struct {
	story.Teller
	plane    *story.ControlPlane
	servers  map[string]*server
	conn     *grpc.ClientConn
	sessions []*customer
}

func run(ctx context.Context, out io.Writer) (err error) {
	s := &stage{Teller: story.New(out), servers: make(map[string]*server)}
	s.Title("xdsforge session: calls of a session stay on their server, whatever else changes")
	defer s.close()
	if err := s.build(ctx); err != nil {
		return err
	}
	closeConn, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeConn()) }()
	if err := s.Play(ctx, s.stay, s.drain, s.reroute, s.remove); err != nil {
		return err
	}
	s.Title("\nEverything was seen.")
	return nil
}

// dial creates the channel.
func (s *stage) dial() (closeAll func() error, err error) {
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "shop-1"},
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, s.plane.Addr()))
	if err != nil {
		return nil, err
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		return nil, err
	}
	s.conn, err = grpcxds.Dialer{Env: env}.NewClient("xds:///basket", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return func() error { return errors.Join(s.conn.Close(), env.Close()) }, nil
}
