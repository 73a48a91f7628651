package relay

import (
	"cmp"
	"context"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/status"
)

// follow keeps the state of the relay until ctx ends: stale while a server in use is unreachable, and
// down after the end of the client.
func (r *Relay) follow(ctx context.Context) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.closed {
			r.setState(source.State{Kind: source.Down, Err: fmt.Errorf("relay: the client is %w", resource.ErrClosed)})
		}
	}()
	stale, last := false, uint64(0)
	for ev := range r.client.FollowEvents(ctx) {
		missed := ev.Number != last+1
		last = ev.Number
		switch ev.Kind { // no other kind tells about the reachability of servers
		case status.EventLost, status.EventClosed, status.EventConnected, status.EventFellBack, status.EventReturned:
		default:
			if !stale && !missed {
				continue
			}
		}
		summary, err := r.client.Summary(ctx)
		if err != nil {
			return // the client or the relay is closed
		}
		stale = r.judge(summary)
	}
}

// judge derives the state from that of the client. It reports whether the resources are stale.
func (r *Relay) judge(s status.Snapshot) (stale bool) {
	down := make(map[string]status.Server)
	for _, server := range s.Servers {
		if !server.DownSince.IsZero() {
			down[server.Entry.Key()] = server
		}
	}
	next := source.State{Kind: source.Live}
	for _, a := range s.Authorities {
		if a.Active == nil {
			continue
		}
		if server, ok := down[a.Active.Key()]; ok && (!stale || server.DownSince.Before(next.Since)) {
			stale = true
			next = source.State{Kind: source.Stale, Since: server.DownSince, Err: fmt.Errorf("relay: server %s is unreachable: %w", a.Active.URI(), cmp.Or(server.Err, resource.ErrTransport))}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.route(&s)
	if r.closed || r.state.Kind == next.Kind {
		return stale
	}
	r.setState(next)
	if stale {
		r.options.logger.Warn("relayed resources are stale", "since", next.Since, "error", next.Err)
	} else {
		r.options.logger.Info("relayed resources are live again")
	}
	return stale
}
