// Command status shows an operator's view of a gRPC channel and a gRPC server: the same facts as CSDS, metrics and the
// log report them.
//
//	go run ./examples/demos/status
//
// One process has two control planes, the channel and the server. Endpoints fail, resources are invalid, and a
// control plane stops. After each event, the program prints CSDS, metrics and log lines side by side. Its exit
// code is 0 only if they agree. Read chapters.go for the events, and [stage.open] for the code that a program needs.
//
//	go run ./examples/demos/status -debug 127.0.0.1:8080
//
// With -debug, the program stays and serves its state under /debug/ at that address, until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/grpcxds"
)

const (
	// timeout is the limit for all chapters.
	timeout = time.Minute
	// visit is the limit for a run that serves its state.
	visit = 24 * time.Hour
)

func main() {
	debug := flag.String("debug", "", "serve the state under /debug/ at this address after the last chapter, such as 127.0.0.1:8080")
	flag.Parse()
	limit := timeout
	if *debug != "" {
		limit = visit
	}
	story.Main("status", limit, func(ctx context.Context, out io.Writer) error { return run(ctx, out, *debug) })
}

// A stage has the state of the chapters.
type stage struct {
	story.Teller
	primary, fallback *story.ControlPlane
	env               *xdsforge.Env
	server            *grpcxds.Server    // it answers calls, as configured by xDS
	healthy, broken   *backend           // the server's address, and an endpoint that fails
	channels          []*grpc.ClientConn // checkout, and later late
	admin             *admin             // CSDS, as an operator reads it
	metrics           sdkmetric.Reader
	log               logbook
}

func run(ctx context.Context, out io.Writer, debug string) (err error) {
	s := &stage{Teller: story.New(out), metrics: sdkmetric.NewManualReader()}
	s.Title("xdsforge status: CSDS, metrics and the log of one channel and one server")
	defer func() { err = errors.Join(err, s.close()) }() //nolint:contextcheck // closing does not wait
	if err := s.play(ctx); err != nil {
		return err
	}
	if err := s.readPage(ctx); err != nil {
		return err
	}
	s.Title("\nCSDS, metrics and the log agree.")
	if debug == "" {
		return nil
	}
	return s.serveDebug(ctx, debug)
}

// play plays the chapters within their time.
func (s *stage) play(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.build(ctx); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return fmt.Errorf("creating the server and the channel: %w", err)
	}
	return s.Play(ctx, s.inUse, s.failedEndpoint, s.badResources, s.fellBack, s.recovered)
}
