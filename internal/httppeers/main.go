// Command httppeers lets a Server and a Transport of package httpxds talk to HTTP programs of other projects: nginx, Node,
// curl and h2spec. nginx closes its connections after ten requests, so that the client meets GOAWAY all the time. The
// clients send requests while the server's Listener changes. No request may be lost.
//
// With -chaos it sends 100,000 requests of net/http, Node, curl and nginx through a forwarding server and a Transport while the
// configuration changes and endpoints die, and as many through a reverse proxy of net/http. It prints the requests that each
// client lost.
//
// It needs the programs nginx (Debian's package nginx-light), node and curl. The variable NGINX_PROGRAM names another nginx. h2spec
// is built by the Go command.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// timeout bounds the story of one peer.
const timeout = 2 * time.Minute

func main() {
	flag.Parse()
	process.Main("httppeers", func(ctx context.Context) error {
		dir, err := os.MkdirTemp("", "httppeers")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if *chaosRun {
			return chaos(ctx, dir)
		}
		return all(ctx, dir)
	})
}

// all tells the story of each peer.
func all(ctx context.Context, dir string) error {
	for _, peer := range []struct {
		name string
		tell func(ctx context.Context, w *world) (string, error)
	}{
		{"nginx", nginx}, {"Node as a server", nodeServer}, {"Node as a client", nodeClient}, {"curl", curl}, {"h2spec", h2spec},
	} {
		start := time.Now()
		seen, err := tell(ctx, dir, peer.tell)
		if err != nil {
			return fmt.Errorf("%s: %w", peer.name, err)
		}
		fmt.Printf("%-17s ok: %s (%.1f s)\n", peer.name, seen, time.Since(start).Seconds())
	}
	return nil
}

func tell(ctx context.Context, dir string, f func(context.Context, *world) (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	w, err := newWorld(dir) //nolint:contextcheck // close ends it
	if err != nil {
		return "", err
	}
	defer w.close()
	return f(ctx, w)
}
