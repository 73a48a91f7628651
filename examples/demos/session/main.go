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

	"github.com/xdsforge/xdsforge/examples/demos/story"
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
	conn     *story.Channel
	sessions []*customer
}

func run(ctx context.Context, out io.Writer) (err error) {
	s := &stage{Teller: story.New(out), servers: make(map[string]*server)}
	s.Title("xdsforge session: calls of a session stay on their server, whatever else changes")
	defer s.close()
	if err := s.build(ctx); err != nil {
		return err
	}
	if s.conn, err = story.Dial("xds:///basket", s.bootstrap()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.conn.Close()) }()
	if err := s.Play(ctx, s.stay, s.drain, s.reroute, s.remove); err != nil {
		return err
	}
	s.Title("\nEverything was seen.")
	return nil
}

// bootstrap returns the content of the bootstrap file.
func (s *stage) bootstrap() []byte {
	return fmt.Appendf(nil, `{"node": {"id": "shop-1"},
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, s.plane.Addr())
}
