// Package targetstatus records the state of a target, for [dataplane.Target].
package targetstatus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// A Target records the configurations of a gRPC channel or an HTTP client.
type Target struct {
	// Name is the target, and Authority its data-plane authority.
	Name, Authority string

	mu      sync.Mutex
	config  *xdsconfig.Config // the newest usable one, since updated; nil: none
	updated time.Time
	err     error // the last error, at errAt
	errAt   time.Time
	failing bool // calls fail with err
}

// Delivered records a configuration, or the reason why there is none.
func (t *Target) Delivered(c *xdsconfig.Config, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failing = err != nil; err != nil {
		t.config, t.updated = nil, time.Time{}
		t.err, t.errAt = err, time.Now()
		return
	}
	t.config, t.updated = c, time.Now()
}

// Rejected records the error of the LB policy.
func (t *Target) Rejected(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err, t.errAt, t.failing = err, time.Now(), true
}

func (t *Target) describe() dataplane.Target {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := dataplane.Target{Target: t.Name, Authority: t.Authority, Updated: t.updated, ErrAt: t.errAt, Failing: t.failing}
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
		for _, e := range c.Extensions() {
			d.Extensions = append(d.Extensions, e.Name().String())
		}
	}
	return d
}

// Describe describes the target with its LB trees. pending returns an error that names the resource for which the target
// waits, or nil.
func (t *Target) Describe(ctx context.Context, pending func() error, trees *lbtree.Trees) (dataplane.Target, error) {
	d := t.describe()
	if err := pending(); err != nil {
		d.Pending = err.Error()
	}
	for i, tree := range trees.All() {
		state, clusters, err := tree.Describe(ctx)
		switch {
		case errors.Is(err, serial.ErrClosed): // the channel has become idle, or an LB policy has closed a child
			continue
		case err != nil:
			return d, fmt.Errorf("target %q: %w", t.Name, err)
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
