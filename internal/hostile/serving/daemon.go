package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/hostile/beat"
	"github.com/xdsforge/xdsforge/internal/process"
)

// A scene is the daemon of an attack.
type scene struct {
	clusters   int  // resources of the daemon's folder
	relayed    bool // there is no folder: the daemon relays all names
	load       bool // the daemon serves load reports
	restricted bool // clients may only subscribe to the victim's authority
}

// build builds the daemon.
func build(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/xdsd") //nolint:gosec // the path is a temporary one
	cmd.Dir = filepath.Join("tools", "xdsd")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building xdsd in %s, run this from the root of the repository: %w\n%s", cmd.Dir, err, out)
	}
	return nil
}

// A daemon is a process of xdsd.
type daemon struct {
	cmd       *exec.Cmd
	ads, http string // addresses
	errors    lines
}

// start starts a daemon in an empty directory.
func (s scene) start(ctx context.Context, program, dir, plane string) (*daemon, error) {
	bootstrap := filepath.Join(dir, "bootstrap.json")
	const servers = `[{"server_uri": "passthrough:///%s", "channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}]`
	config := fmt.Sprintf(`{"node": {"id": "xdsd"}, "xds_servers": `+servers+`, "authorities": {%[2]q: {}}}`, plane, beat.Authority)
	if err := os.WriteFile(bootstrap, []byte(config), 0o600); err != nil {
		return nil, err
	}
	args := []string{"-listen", "127.0.0.1:0", "-http", "127.0.0.1:0"}
	if s.relayed {
		args = append(args, "-upstream", bootstrap)
	} else {
		folder := filepath.Join(dir, "config")
		if err := writeFolder(folder, s.clusters); err != nil {
			return nil, err
		}
		args = append(args, "-authority", beat.Authority+"=upstream:"+bootstrap, folder)
	}
	if s.load {
		args = append(args, "-load", "1s")
	}
	if s.restricted {
		file := filepath.Join(dir, "permissions.json")
		if err := os.WriteFile(file, fmt.Appendf(nil, `[{"clients": ["anyone"], "types": ["*"], "authorities": [%q]}]`, beat.Authority), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "-permissions", file)
	}
	d := &daemon{cmd: exec.CommandContext(ctx, program, args...)}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.cmd.Stderr = &d.errors
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	err = d.await(out)
	return d, err
}

// await waits for the addresses of the daemon.
func (d *daemon) await(out io.Reader) error {
	in := bufio.NewScanner(out)
	for d.ads == "" && in.Scan() {
		if addr, ok := strings.CutPrefix(in.Text(), "serving at "); ok {
			d.ads = addr
		}
		if page, ok := strings.CutPrefix(in.Text(), "status at http://"); ok {
			d.http, _, _ = strings.Cut(page, "/")
		}
	}
	if d.ads == "" {
		return fmt.Errorf("xdsd does not serve: %s", d.errors.text())
	}
	return nil
}

// stop ends the daemon.
func (d *daemon) stop() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait() // it was killed
}

// resident returns the resident memory of the daemon in bytes.
func (d *daemon) resident() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", d.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return process.Resident(b)
}

// lines counts the lines of a log, and keeps the first ones.
type lines struct {
	count atomic.Int64
	mu    sync.Mutex
	first bytes.Buffer
}

// Write implements [io.Writer].
func (l *lines) Write(b []byte) (int, error) {
	l.count.Add(int64(bytes.Count(b, []byte("\n"))))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first.Len() < 1<<16 {
		l.first.Write(b)
	}
	return len(b), nil
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first.String()
}

// writeFolder writes a folder with clusters.
func writeFolder(folder string, clusters int) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	all := new(discoveryv3.DiscoveryResponse)
	for i := range clusters {
		a, err := anypb.New(beat.Cluster(fmt.Sprintf("cluster-with-a-name-%06d", i), "service"))
		if err != nil {
			return err
		}
		all.Resources = append(all.Resources, a)
	}
	b, err := proto.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "clusters.pb"), b, 0o600)
}
