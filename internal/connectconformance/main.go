// Command connectconformance runs the conformance tests of Connect through package httpxds: a reverse proxy of a Server and
// a Transport stands between the client and the server of Connect.
//
//	go run .
//
// In the runner's mode "server", the runner's client checks the responses of a reference server behind the proxy. In the
// mode "client", the runner's server checks the requests of a reference client before the proxy. The tests cover Connect,
// gRPC and gRPC-Web, by HTTP/1.1 and HTTP/2. The files known-*.txt list the cases that fail, with the reason, and
// flaky-client.txt those that may. The exit code is 1 if another case fails, or if a known one passes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// timeout bounds the runs of one mode.
const timeout = 10 * time.Minute

func main() {
	server := flag.String("server", "", "be a server: a proxy before this reference server (used by the program itself)")
	client := flag.String("client", "", "be a client: this reference client with a proxy (used by the program itself)")
	cases := flag.String("run", "", "run only the cases with this pattern")
	flag.Parse()
	process.Main("connectconformance", func(ctx context.Context) error {
		switch {
		case *server != "":
			return serve(ctx, *server)
		case *client != "":
			return call(ctx, *client)
		default:
			return run(ctx, *cases)
		}
	})
}

// run builds the programs of the conformance tests, and runs both modes.
func run(ctx context.Context, cases string) error {
	dir, err := os.MkdirTemp("", "connectconformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const path = "connectrpc.com/conformance/cmd/"
	if err := command(ctx, "go", "build", "-o", dir, path+"connectconformance", path+"referenceserver", path+"referenceclient").Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	for _, mode := range []string{"server", "client"} {
		args := []string{"--mode", mode, "--conf", "config.yaml", "--known-failing", "@known-" + mode + ".txt", "--max-servers", "2", "--parallel", "2"}
		if mode == "client" {
			args = append(args[:len(args)-2], "--known-flaky", "@flaky-client.txt")
		}
		if cases != "" {
			args = append(args, "--run", cases)
		}
		args = append(args, "--", self, "-"+mode, filepath.Join(dir, "reference"+mode))
		if err := within(ctx, filepath.Join(dir, "connectconformance"), args); err != nil {
			return fmt.Errorf("mode %s: %w", mode, err)
		}
	}
	return nil
}

func within(ctx context.Context, program string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return command(ctx, program, args...).Run()
}

// command returns a command with the output of this program.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...) //nolint:gosec // the programs of the conformance tests
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c
}
