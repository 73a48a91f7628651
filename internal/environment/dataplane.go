package environment

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// dataPlane has the gRPC channels and servers of an Env. Each is open as long as it is here.
type dataPlane struct {
	mu      sync.Mutex
	targets []*Target
	servers []*Server
}

// A Target describes a channel.
type Target func(context.Context) (dataplane.Target, error)

// A Server describes a gRPC server.
type Server func() dataplane.Server

// AddTarget adds a channel, until remove is called.
func (e *Env) AddTarget(t Target) (remove func()) { return add(&e.plane.mu, &e.plane.targets, t) }

// AddServer adds a gRPC server, until remove is called.
func (e *Env) AddServer(s Server) (remove func()) { return add(&e.plane.mu, &e.plane.servers, s) }

func add[T any](mu *sync.Mutex, list *[]*T, v T) (remove func()) {
	mu.Lock()
	defer mu.Unlock()
	*list = append(*list, &v)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		*list = slices.DeleteFunc(*list, func(o *T) bool { return o == &v })
	}
}

func snapshot[T any](mu *sync.Mutex, list *[]*T) []*T {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(*list)
}

// Targets describes the channels, ordered by their targets.
func (e *Env) Targets(ctx context.Context) ([]dataplane.Target, error) {
	var out []dataplane.Target
	for _, t := range snapshot(&e.plane.mu, &e.plane.targets) {
		d, err := (*t)(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b dataplane.Target) int { return cmp.Compare(a.Target, b.Target) })
	return out, nil
}

// Servers describes the gRPC servers, the oldest first.
func (e *Env) Servers() []dataplane.Server {
	all := snapshot(&e.plane.mu, &e.plane.servers)
	out := make([]dataplane.Server, 0, len(all))
	for _, s := range all {
		out = append(out, (*s)())
	}
	return out
}
