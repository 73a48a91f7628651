package grpcxds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// A target records the configurations of a channel.
type target struct {
	name, authority string

	mu      sync.Mutex
	config  *xdsconfig.Config // the newest usable one, since updated; nil: none
	updated time.Time
	err     error // the last error, at errAt
	errAt   time.Time
	failing bool // calls fail with err
}

// delivered records a configuration, or the reason why there is none.
func (t *target) delivered(c *xdsconfig.Config, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failing = err != nil; err != nil {
		t.config, t.updated = nil, time.Time{}
		t.err, t.errAt = err, time.Now()
		return
	}
	t.config, t.updated = c, time.Now()
}

// rejected records the error of the LB policy.
func (t *target) rejected(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err, t.errAt, t.failing = err, time.Now(), true
}

func (t *target) describe() dataplane.Target {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := dataplane.Target{Target: t.name, Authority: t.authority, Updated: t.updated, ErrAt: t.errAt, Failing: t.failing}
	if t.err != nil {
		d.Err = t.err.Error()
	}
	if c := t.config; c != nil && c.Listener != nil {
		d.Listener = c.Listener.Name().String()
		if c.Route != nil {
			d.Routes = c.Route.Name().String()
		}
		if c.VirtualHost != nil {
			d.VirtualHost = c.VirtualHost.Name
		}
	}
	return d
}

// describe describes the channel.
func (r *xdsResolver) describe(ctx context.Context) (dataplane.Target, error) {
	d := r.target.describe()
	if err := r.watcher.Pending(); err != nil {
		d.Pending = err.Error()
	}
	for i, tree := range r.trees.All() {
		state, clusters, err := tree.Describe(ctx)
		switch {
		case errors.Is(err, serial.ErrClosed): // the channel has become idle, or an LB policy has closed a child
			continue
		case err != nil:
			return d, fmt.Errorf("target %q: %w", r.target.name, err)
		}
		if i == 0 {
			d.State = state
		}
		d.Clusters = append(d.Clusters, clusters...)
	}
	slices.SortStableFunc(d.Clusters, func(a, b dataplane.Cluster) int { return strings.Compare(a.Name, b.Name) })
	d.Taken = time.Now()
	return d, nil
}

// describe describes the server.
func (s *Server) describe() dataplane.Server {
	s.mu.Lock()
	ports := slices.Clone(s.ports)
	s.mu.Unlock()
	d := dataplane.Server{Taken: time.Now()}
	for _, p := range ports {
		d.Ports = append(d.Ports, p.Describe(d.Taken))
	}
	return d
}
