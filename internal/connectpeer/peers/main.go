// Command peers lets connect-es, the implementation of Connect in TypeScript, call and serve programs of package httpxds: unary
// calls, GET, streams, errors with details and deadlines, by Connect, gRPC and gRPC-Web, on HTTP/1.1 and HTTP/2. It needs node
// and npm, which installs connect-es in a temporary folder. The test of this package lets the client and the server in Go call
// each other.
package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/process"
)

//go:embed js/peer.js js/package.json
var sources embed.FS

// timeout bounds the installation, and the calls of one row.
const timeout = 2 * time.Minute

func main() {
	process.Main("peers", func(ctx context.Context) error {
		dir, err := os.MkdirTemp("", "connectpeers")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := install(ctx, dir); err != nil {
			return err
		}
		w, err := newWorld() //nolint:contextcheck // close ends it
		if err != nil {
			return err
		}
		defer w.close()
		site, err := w.site(ctx)
		if err != nil {
			return err
		}
		for _, r := range rows() {
			if err := compare(ctx, w, dir, site, r); err != nil {
				return fmt.Errorf("%s on %s: %w", r.protocol, r.version, err)
			}
		}
		return nil
	})
}

// A row is one variant of the protocol.
type row struct {
	protocol protocol
	version  string // of HTTP, as connect-es names it
	kind     httpxds.Protocol
}

// rows returns the variants. gRPC needs HTTP/2.
func rows() []row {
	return []row{
		{Connect, "1.1", httpxds.HTTP1},
		{Connect, "2", httpxds.HTTP2},
		{GRPC, "2", httpxds.HTTP2},
		{GRPCWeb, "1.1", httpxds.HTTP1},
		{GRPCWeb, "2", httpxds.HTTP2},
	}
}

// compare makes the calls of a row in both directions.
func compare(ctx context.Context, w *world, dir, site string, r row) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "node", filepath.Join(dir, "peer.js"), "call", string(r.protocol), r.version, site).Output() //nolint:gosec // our own script
	if err != nil {
		return fmt.Errorf("the client of connect-es: %w\n%s", err, out)
	}
	var theirs int
	if _, err := fmt.Sscanf(string(out), "ok %d", &theirs); err != nil {
		return fmt.Errorf("the client of connect-es reports %q: %w", out, err)
	}
	addr, stop, err := serveNode(ctx, dir, r.version)
	if err != nil {
		return err
	}
	defer stop()
	ours, err := w.calls(ctx, addr, r)
	if err != nil {
		return fmt.Errorf("the client in Go: %w", err)
	}
	if ours != theirs {
		return fmt.Errorf("the client in Go makes %d kinds of calls, and that of connect-es %d; want the same", ours, theirs)
	}
	fmt.Printf("%-8s HTTP/%-3s ok: %d kinds of calls in each direction\n", r.protocol, r.version, ours)
	return nil
}

// install installs connect-es in a folder.
func install(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	files, err := fs.Sub(sources, "js")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	return nil
}

// serveNode starts a server of connect-es. It returns its address.
func serveNode(ctx context.Context, dir, version string) (addr string, stop func(), err error) {
	c := exec.CommandContext(ctx, "node", filepath.Join(dir, "peer.js"), "serve", version) //nolint:gosec // our own script
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		stop()
		return "", nil, fmt.Errorf("the port of the server of connect-es: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port), stop, nil
}
