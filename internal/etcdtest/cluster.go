package etcdtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// A Cluster is a cluster of etcd on loopback. Close it after use.
type Cluster struct {
	nodes []*process
}

type process struct {
	config  node
	cmd     *exec.Cmd // nil: it does not run
	stdin   io.Closer
	stopped bool
}

// Start starts a cluster that keeps its data in a directory.
func Start(ctx context.Context, dir string, o Options) (*Cluster, error) {
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Quota == 0 {
		o.Quota = 8 << 30
	}
	c := new(Cluster)
	addrs, err := freeAddrs(ctx, 2*o.Nodes)
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if o.TLS != "" {
		scheme = "https://"
	}
	var initial []string
	for i := range o.Nodes {
		name := fmt.Sprintf("node%d", i)
		peer := "http://" + addrs[2*i]
		initial = append(initial, name+"="+peer)
		c.nodes = append(c.nodes, &process{config: node{Name: name, Dir: filepath.Join(dir, name), Client: scheme + addrs[2*i+1], Peer: peer, Options: o}})
	}
	for _, p := range c.nodes {
		p.config.Initial = strings.Join(initial, ",")
	}
	if err := c.startAll(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// startAll starts all nodes at once: a node is ready once a majority runs. If that fails, it kills all.
func (c *Cluster) startAll(ctx context.Context) (err error) {
	waits := make([]func() error, 0, len(c.nodes))
	for _, p := range c.nodes {
		wait, err := p.start(ctx)
		if err != nil {
			return errors.Join(err, c.Close())
		}
		waits = append(waits, wait)
	}
	for _, wait := range waits {
		err = errors.Join(err, wait())
	}
	if err != nil {
		err = errors.Join(err, c.Close())
	}
	return err
}

// freeAddrs returns addresses of loopback that were free just now.
func freeAddrs(ctx context.Context, n int) ([]string, error) {
	addrs, listeners := make([]string, 0, n), make([]net.Listener, 0, n)
	defer func() { // all at the end, so that the addresses differ
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// start starts a node, and returns a function that waits until the node is ready.
func (p *process) start(ctx context.Context) (wait func() error, err error) {
	if p.config.Options.Binary != "" {
		return p.startBinary(ctx)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(p.config)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self) //nolint:gosec // this program itself
	cmd.Env, cmd.Stderr = append(os.Environ(), nodeEnv+"="+string(config)), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.cmd, p.stdin = cmd, stdin
	return func() error {
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil || line != "ready\n" {
			return fmt.Errorf("etcdtest: %s is not ready: %q, %w", p.config.Name, line, err)
		}
		return nil
	}, nil
}

// Endpoints returns the client addresses of all nodes.
func (c *Cluster) Endpoints() []string {
	list := make([]string, 0, len(c.nodes))
	for _, p := range c.nodes {
		list = append(list, p.addr())
	}
	return list
}

// addr returns the client address of a node.
func (p *process) addr() string {
	_, addr, _ := strings.Cut(p.config.Client, "://")
	return addr
}

// Kill kills a node.
func (c *Cluster) Kill(i int) error {
	p := c.nodes[i]
	if p.cmd == nil {
		return fmt.Errorf("etcdtest: %s does not run", p.config.Name)
	}
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	p.cmd, p.stopped = nil, false
	return err
}

// Restart starts a node that was killed. Wait waits until it is ready, which takes a majority of the nodes.
func (c *Cluster) Restart(ctx context.Context, i int) (wait func() error, err error) {
	return c.nodes[i].start(ctx)
}

// Freeze stops the process of a node until Thaw.
func (c *Cluster) Freeze(i int) error {
	c.nodes[i].stopped = true
	return c.nodes[i].cmd.Process.Signal(syscall.SIGSTOP)
}

// Thaw continues the process of a node.
func (c *Cluster) Thaw(i int) error {
	c.nodes[i].stopped = false
	return c.nodes[i].cmd.Process.Signal(syscall.SIGCONT)
}

// Client returns a client of all nodes.
func (c *Cluster) Client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
}

// Leader returns the number of the leader.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	cl, err := c.Client()
	if err != nil {
		return 0, err
	}
	defer func() { _ = cl.Close() }()
	for ctx.Err() == nil {
		for i, p := range c.nodes {
			if p.cmd == nil || p.stopped {
				continue
			}
			tryCtx, cancel := context.WithTimeout(ctx, 2*time.Second)
			r, err := cl.Status(tryCtx, p.addr())
			cancel()
			if err == nil && r.Leader == r.Header.MemberId {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("etcdtest: no leader: %w", context.Cause(ctx))
}

// Close kills all nodes.
func (c *Cluster) Close() error {
	var errs []error
	for i, p := range c.nodes {
		if p.cmd != nil {
			errs = append(errs, c.Kill(i))
		}
	}
	return errors.Join(errs...)
}
