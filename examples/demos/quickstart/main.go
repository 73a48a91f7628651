// Command quickstart shows the features of xdsforge. One process has two control
// planes on loopback and a client that both configure. The client prints its events
// when resources are added, changed, rejected and removed.
//
//	go run ./examples/demos/quickstart
//
// It ends within seconds. Its exit code is 0 only if every printed event happened.
// Read chapters.go for how a program uses the client.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// timeout is the limit for the whole run.
const timeout = 12 * time.Second

func main() {
	story.Main("quickstart", timeout, run)
}

// A stage has the state of the chapters.
type stage struct {
	story.Teller
	a, b   *story.ControlPlane
	config *bootstrap.Config
	client *xdsforge.Client
}

func run(ctx context.Context, out io.Writer) (err error) {
	began := time.Now()
	s := &stage{Teller: story.New(out)}
	s.Title("xdsforge quickstart: one program, configured by two control planes")

	if s.a, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	defer s.a.Stop()
	if s.b, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // likewise
		return err
	}
	defer s.b.Stop()
	if err := s.publish(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "xdsforge-quickstart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // an empty folder may remain
	if err := s.start(filepath.Join(dir, "bootstrap.json")); err != nil {
		return err
	}
	defer func() {
		if closeErr := s.client.Close(); err == nil {
			err = closeErr
		}
	}()

	if err := s.Play(ctx, s.targets, s.references, s.connections, s.liveChange, s.badResource, s.removal); err != nil {
		return err
	}
	s.Title(fmt.Sprintf("Everything was seen, in %.1f s.", time.Since(began).Seconds()))
	return nil
}

// start writes a bootstrap file and creates a client from it. A program needs no other
// set-up.
func (s *stage) start(path string) error {
	s.Chapter("Two control planes and a bootstrap file")
	if err := os.WriteFile(path, bootstrapFile(s.a.Addr(), s.b.Addr()), 0o600); err != nil {
		return err
	}
	config, err := bootstrap.LoadFile(path)
	if err != nil {
		return err
	}

	// The standard types are Listener, RouteConfiguration, Cluster and ClusterLoadAssignment.
	if s.client, err = xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register)); err != nil {
		return err
	}
	s.config = config
	s.Line("A  %s  speaks for east.example and for names without an authority", s.a.Addr())
	s.Line("B  %s  speaks for west.example and south.example, and has fail_on_data_errors", s.b.Addr())
	s.Seen("the client is configured and has not connected yet: %d and %d connections", s.a.Connections(), s.b.Connections())
	return nil
}

// bootstrapFile returns a bootstrap file as an operator would write it: gRPC's format (gRFC
// A27) with authorities (gRFC A47).
func bootstrapFile(a, b string) []byte {
	serverA := fmt.Sprintf(`{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}`, a)
	serverB := fmt.Sprintf(`{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["fail_on_data_errors"]}`, b)
	return fmt.Appendf(nil, `{
  "node": {"id": "quickstart", "cluster": "examples"},
  "xds_servers": [%[1]s],
  "authorities": {
    "east.example":  {"xds_servers": [%[1]s]},
    "west.example":  {"xds_servers": [%[2]s]},
    "south.example": {"xds_servers": [%[2]s]}
  }
}
`, serverA, serverB)
}
