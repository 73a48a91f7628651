package grpcxds

import (
	"context"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// describe describes the channel.
func (r *xdsResolver) describe(ctx context.Context) (dataplane.Target, error) {
	return r.target.Describe(ctx, r.watcher.Pending, &r.trees)
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
