package etcdtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/tools/xdsd"
)

// daemonEnv marks a process as a daemon.
const daemonEnv = "XDSFORGE_XDSD"

// IsChild runs a node, or a daemon with further types, and reports true if this process was started as one. Programs
// and test mains call it first.
func IsChild(types ...func(xdsforge.Registrar)) bool {
	if os.Getenv(daemonEnv) != "" {
		go func() { // the end of the parent
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		xdsd.Main(types...)
	}
	return isNode()
}

// A Daemon is a process of xdsd.
type Daemon struct {
	Addr   string
	status string
	cmd    *exec.Cmd
}

// StartDaemon starts a daemon on free ports of loopback. It returns when the daemon serves.
func StartDaemon(ctx context.Context, args ...string) (*Daemon, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args = append(args, "-listen", "127.0.0.1:0", "-http", "127.0.0.1:0")
	d := &Daemon{cmd: exec.CommandContext(context.WithoutCancel(ctx), self, args...)} //nolint:gosec // this program itself
	d.cmd.Env = append(os.Environ(), daemonEnv+"=1")
	if _, err := d.cmd.StdinPipe(); err != nil { // it closes with this process
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		if url, ok := strings.CutPrefix(s.Text(), "status at "); ok {
			d.status = url
		}
		if addr, ok := strings.CutPrefix(s.Text(), "serving at "); ok {
			d.Addr = addr
			return d, nil
		}
	}
	return nil, errors.Join(errors.New("etcdtest: the daemon does not serve"), d.Kill())
}

// Kill kills the daemon. A daemon that was killed stays so.
func (d *Daemon) Kill() error {
	if d.cmd == nil {
		return nil
	}
	err := d.cmd.Process.Kill()
	_ = d.cmd.Wait() // it was killed
	d.cmd = nil
	return err
}

// A DaemonStatus is a part of the status of a daemon.
type DaemonStatus struct {
	Sources []struct {
		State string
		Store *struct {
			Endpoint, Epoch     string
			Revision            int64
			Resources, Switches int
			Sums                map[string]uint64
		}
	}
	Clients []struct {
		Node  string
		Types []struct {
			URL       string
			Names     int
			Responses uint64
		}
	}
}

// AwaitRevision waits until the daemon has read a revision of its store.
func (d *Daemon) AwaitRevision(ctx context.Context, revision int64) error {
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for {
		s, err := d.Status(ctx)
		if err != nil {
			return err
		}
		if st := s.Sources[0].Store; st != nil && st.Revision >= revision {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("etcdtest: the daemon has not read revision %d: %w", revision, context.Cause(ctx))
		}
	}
}

// Status returns the status of the daemon.
func (d *Daemon) Status(ctx context.Context) (s DaemonStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.status, http.NoBody)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return s, fmt.Errorf("etcdtest: %s: %w", d.status, err)
	}
	return s, nil
}
