// Command channel shows a gRPC channel that two control planes configure, created with
// grpcxds.NewClient.
//
//	go run ./examples/demos/channel
//
// One process has the control planes of two authorities, the servers, and the client. It
// ends within seconds. Its exit code is 0 only if every printed event happened. Read
// chapters.go for the events, and [story.Dial] for the code that creates the channel.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xdsforge/xdsforge/examples/demos/story"
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
	conn                  *story.Channel
	counts                counts // all answered calls
}

func run(ctx context.Context, out io.Writer) (err error) {
	s := &stage{Teller: story.New(out), counts: make(counts)}
	s.Title("xdsforge channel: one gRPC channel, configured by two control planes")
	defer func() { s.close() }()
	if err := s.build(ctx); err != nil {
		return err
	}
	if s.conn, err = story.Dial("xds://east.example/checkout", s.bootstrap()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.conn.Close()) }()
	if err := s.Play(ctx, s.split, s.failover, s.fault, s.load); err != nil {
		return err
	}
	s.Title("\nEverything was seen.")
	return nil
}

// bootstrap returns the content of a bootstrap file with both authorities.
func (s *stage) bootstrap() []byte {
	return fmt.Appendf(nil, `{
		"node": {"id": "shop-1"},
		"authorities": {
			"east.example": {"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]},
			"west.example": {"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}
		}
	}`, s.east.plane.Addr(), s.west.plane.Addr())
}
