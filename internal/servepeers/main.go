package main

import (
	"context"
	"fmt"
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
		return all(ctx, dir)
	})
}

// all tells the story with each client.
func all(ctx context.Context, dir string) error {
	js, cpp := filepath.Join(dir, "js"), filepath.Join(dir, "cpp")
	for _, p := range []struct {
		name    string
		dir     string
		prepare func(ctx context.Context, dir string) error
		open    func(ctx context.Context, w *world, node string) (peer, error)
	}{
		{"grpc-go", "", nil, openGo},
		{"grpc-js", js, prepareJS, openChild(js, "node", "peer.js")},
		{"grpc-cpp", cpp, prepareCPP, openChild(cpp, "./peer")},
	} {
		if p.prepare != nil {
			if err := os.Mkdir(p.dir, 0o700); err != nil {
				return err
			}
			if err := p.prepare(ctx, p.dir); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		start := time.Now()
		if err := tell(ctx, p.name, 4, p.open); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Printf("%-10s ok, %.1f s\n", p.name, time.Since(start).Seconds())
	}
	return nil
}
