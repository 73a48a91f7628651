package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/acme/ratelimit"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// policies is the number of rate limits.
const policies = 300

// A stage has everything that runs in the story.
type stage struct {
	story.Teller
	nodes    *etcdtest.Cluster
	store    publish.Store
	daemons  []*etcdtest.Daemon // two that serve the store, and the relay
	balancer *etcdtest.Balancer
	full     int64 // bytes of the start of one client
	calls    *caller
	clients  []*client // of the balancer, and of the relay
	closers  []func() error
}

// close ends everything, the last first.
func (s *stage) close() {
	for _, f := range slices.Backward(s.closers) {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

func (s *stage) onClose(f func() error) { s.closers = append(s.closers, f) }

// start starts the nodes of etcd and the daemons.
func (s *stage) start(ctx context.Context) error {
	s.Chapter("Three nodes of etcd, and two daemons that serve them")
	dir, err := os.MkdirTemp("", "demo-serve-")
	if err != nil {
		return err
	}
	s.onClose(func() error { return os.RemoveAll(dir) })
	if s.nodes, err = etcdtest.Start(ctx, dir, etcdtest.Options{Nodes: 3}); err != nil {
		return err
	}
	s.onClose(s.nodes.Close)
	url := "etcd://" + strings.Join(s.nodes.Endpoints(), ",")
	for range 2 {
		if err := s.startDaemon(ctx, "-store", url); err != nil {
			return err
		}
	}
	if s.balancer, err = etcdtest.NewBalancer(s.daemons[0].Addr, s.daemons[1].Addr); err != nil { //nolint:contextcheck // it ends with Close
		return err
	}
	s.onClose(s.balancer.Close)
	file := dir + "/bootstrap.json"
	if err := os.WriteFile(file, bootstrapOf(s.balancer.Addr(), "relay"), 0o600); err != nil {
		return err
	}
	if err := s.startDaemon(ctx, "-upstream", file); err != nil {
		return err
	}
	s.Seen("two daemons serve %s, a balancer is in front of them, and a relay behind it", url)
	types := registry.New()
	grpcxds.Register(types)
	ratelimit.Register(types)
	set, err := types.Freeze()
	if err != nil {
		return err
	}
	store, err := etcd.Open(etcd.Options{Endpoints: s.nodes.Endpoints(), Author: "demo"})
	if err != nil {
		return err
	}
	s.onClose(store.Close)
	s.store = publish.NewChecked(store, set)
	return nil
}

func (s *stage) startDaemon(ctx context.Context, args ...string) error {
	d, err := etcdtest.StartDaemon(ctx, args...)
	if err != nil {
		return err
	}
	s.daemons = append(s.daemons, d)
	s.onClose(d.Kill)
	return nil
}

func bootstrapOf(addr, node string) []byte {
	return fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}], "node": {"id": %q}}`, addr, node)
}

// A client watches all policies.
type client struct {
	name string
	mu   sync.Mutex
	has  map[string]uint32 // calls a second, by name
	errs []error
	next chan struct{} // closed at the next event
}

// watch starts a client of a daemon or balancer.
func (s *stage) watch(ctx context.Context, name, addr string) (*client, error) {
	config, err := bootstrap.Parse(bootstrapOf(addr, name))
	if err != nil {
		return nil, err
	}
	x, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(ratelimit.Register))
	if err != nil {
		return nil, err
	}
	s.onClose(x.Close)
	c := &client{name: name, has: make(map[string]uint32), next: make(chan struct{})}
	for i := range policies {
		go func() {
			for ev := range ratelimit.Watch(ctx, x, policyName(i)) {
				c.note(policyName(i), ev)
			}
		}()
	}
	return c, nil
}

func (c *client) note(name string, ev ratelimit.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ev.Err != nil {
		c.errs = append(c.errs, ev.Err)
		delete(c.has, name)
	} else {
		c.has[name] = ev.Update.Limit.PerSecond
	}
	close(c.next)
	c.next = make(chan struct{})
}

// waitLimit bounds every wait for a client.
const waitLimit = time.Minute

// until waits until the client has the wanted policies.
func (c *client) until(ctx context.Context, want map[string]uint32) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		c.mu.Lock()
		wrong := 0
		for name, limit := range want {
			if c.has[name] != limit {
				wrong++
			}
		}
		next := c.next
		c.mu.Unlock()
		if wrong == 0 {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("client %s lacks %d of %d policies after %v", c.name, wrong, len(want), waitLimit)
		}
	}
}

// lost returns the errors that the client had.
func (c *client) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

func policyName(i int) string { return fmt.Sprintf("service-%03d", i) }
