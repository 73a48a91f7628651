// Command channel shows a gRPC channel that two control planes configure, created with
// grpcxds.NewClient.
//
//	go run ./examples/demos/channel
//
// One process has the control planes of two authorities, the servers, and the client. It
// ends within seconds. Its exit code is 0 only if every printed event happened. Read
// chapters.go for the events, and [stage.dial] for the code that creates the channel.
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
	story.Main("channel", timeout, run)
}

// A stage has the state of the chapters.
type stage struct {
	story.Teller
	east *authority // authority of the target and of the cluster "stable"
	west *authority // authority of the cluster "canary"
	// The servers of the cluster stable, by priority, and the server of canary.
	first, second, canary *backend
	conn                  *grpc.ClientConn
	counts                counts // all answered calls
}

func run(ctx context.Context, out io.Writer) (err error) {
	s := &stage{Teller: story.New(out), counts: make(counts)}
	s.Title("xdsforge channel: one gRPC channel, configured by two control planes")
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

// dial creates such a channel. A program usually has a bootstrap file that
// GRPC_XDS_BOOTSTRAP names. Without a Dialer, grpcxds.NewClient reads that file.
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
