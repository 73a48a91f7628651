// Command client shows a gRPC channel that is configured by two control planes: what
// grpcxds.NewClient gives to a program that makes calls.
//
//	go run ./examples/client
//
// Everything is in one process: the control planes of two authorities, servers, and a
// client. It ends by itself within seconds, with exit code 0 only if it saw everything that
// it tells of. Read chapters.go for what happens, and [stage.dial] for what a program has
// to do for it.
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
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/story"
)

// timeout is how long the whole story may take.
const timeout = 45 * time.Second

func main() {
	story.Main("client", timeout, run)
}

// A stage is what the chapters play on.
type stage struct {
	story.Teller
	east *authority // of the target, and of the cluster "stable"
	west *authority // of the cluster "canary"
	// The servers of stable, by priority, and the one of canary.
	first, second, canary *backend
	conn                  *grpc.ClientConn
	counts                counts // of all calls that were answered
}

func run(ctx context.Context, out io.Writer) (err error) {
	s := &stage{Teller: story.New(out), counts: make(counts)}
	s.Title("xdsforge client: one gRPC channel, configured by two control planes")
	defer func() { s.close() }()
	if err := s.build(ctx); err != nil {
		return err
	}
	closeConn, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeConn()) }()
	if err := s.Play(ctx, s.split, s.failover, s.fault, s.load); err != nil {
		return err
	}
	s.Title("\nEverything was seen.")
	return nil
}

// dial is what a program does to have such a channel. The bootstrap is usually a file that
// GRPC_XDS_BOOTSTRAP names; without a Dialer, grpcxds.NewClient reads that.
func (s *stage) dial() (closeAll func() error, err error) {
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{
		"node": {"id": "shop-1"},
		"authorities": {
			"east.example": {"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]},
			"west.example": {"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}
		}
	}`, s.east.plane.Addr(), s.west.plane.Addr()))
	if err != nil {
		return nil, err
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		return nil, err
	}
	s.conn, err = grpcxds.Dialer{Env: env}.NewClient("xds://east.example/checkout",
		grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return func() error { return errors.Join(s.conn.Close(), env.Close()) }, nil
}
