package testing

import (
	"context"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A Limiter knows how many concurrent requests a cluster allows.
type Limiter struct {
	mu      sync.Mutex
	limit   uint32
	warning error
}

// Run follows a cluster until ctx ends.
func (l *Limiter) Run(ctx context.Context, c resource.Client, name string) {
	for ev := range cluster.Watch(ctx, c, name) {
		l.take(ev)
	}
}

func (l *Limiter) take(ev cluster.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warning = ev.Ambient
	switch {
	case ev.Err != nil:
		l.limit = 0
	case ev.Changed:
		l.limit = ev.Update.MaxRequests
	}
}

// Limit returns the limit, zero if the cluster is not usable. The warning is a problem that leaves
// the limit valid.
func (l *Limiter) Limit() (limit uint32, warning error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit, l.warning
}
