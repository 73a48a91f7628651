package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

func main() {
	process.Main("servepeers", func(ctx context.Context) error {
		dir, err := os.MkdirTemp("", "servepeers")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		return all(ctx, os.Stdout, subjects(dir))
	})
}

// A subject is a client to which the story is told.
type subject struct {
	name    string
	variant string // of the protocol
	types   int    // that it subscribes to
	open    func(ctx context.Context, w *world, node string) (peer, error)
	dir     string // or ""
	prepare func(ctx context.Context, dir string) error
}

// The variants of the protocol.
const (
	whole = "state of the world"
	delta = "delta"
)

// subjects returns all clients. The channels and go-control-plane's client have no delta variant.
func subjects(dir string) []subject {
	js, cpp := filepath.Join(dir, "js"), filepath.Join(dir, "cpp")
	return []subject{
		{name: "grpc-go", variant: whole, types: 4, open: openGo},
		{name: "grpc-js", variant: whole, types: 4, open: openChild(js, "node", "peer.js"), dir: js, prepare: prepareJS},
		{name: "grpc-cpp", variant: whole, types: 4, open: openChild(cpp, "./peer"), dir: cpp, prepare: prepareCPP},
		{name: "go-control-plane", variant: whole, types: 1, open: openPlane},
		{name: "strict", variant: whole, types: 4, open: openStrict(false)},
		{name: "strict", variant: delta, types: 4, open: openStrict(true)},
	}
}

// all tells the story to each client, and prints a table.
func all(ctx context.Context, out io.Writer, list []subject) error {
	const row = "%-18s %-20s %10v %10v\n"
	fmt.Fprintf(out, row, "client", "variant", "result", "time")
	for _, s := range list {
		if s.prepare != nil {
			if err := os.Mkdir(s.dir, 0o700); err != nil {
				return err
			}
			if err := s.prepare(ctx, s.dir); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		start := time.Now()
		if err := tell(ctx, s.name, s.types, s.open); err != nil {
			fmt.Fprintf(out, row, s.name, s.variant, "failed", "")
			return fmt.Errorf("%s, %s: %w", s.name, s.variant, err)
		}
		fmt.Fprintf(out, row, s.name, s.variant, "ok", time.Since(start).Round(100*time.Millisecond))
	}
	return nil
}
