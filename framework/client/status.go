package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
)

// Snapshot returns the state of the client. It fails with ctx's error, or with ErrClosed.
func (c *Client) Snapshot(ctx context.Context) (status.Snapshot, error) { return c.picture(ctx, true) }

// Summary returns the state of the client without its resources. Its time does not depend on their
// number. It fails with ctx's error, or with ErrClosed.
func (c *Client) Summary(ctx context.Context) (status.Snapshot, error) { return c.picture(ctx, false) }

func (c *Client) picture(ctx context.Context, resources bool) (status.Snapshot, error) {
	reply := make(chan status.Snapshot, 1)
	c.loop.post(func() { reply <- c.loop.picture(resources) })
	select {
	case s := <-reply:
		s.Node = new(corev3.Node)
		if err := proto.Unmarshal(c.node, s.Node); err != nil {
			return status.Snapshot{}, fmt.Errorf("client: decoding the node: %w", err)
		}
		order(&s)
		return s, nil
	case <-c.done:
		return status.Snapshot{}, fmt.Errorf("client: %w", resource.ErrClosed)
	case <-ctx.Done():
		return status.Snapshot{}, context.Cause(ctx)
	}
}

// order sorts the unordered parts of a snapshot outside of the loop.
func order(s *status.Snapshot) {
	slices.SortFunc(s.Authorities, func(a, b status.Authority) int {
		return cmp.Or(oldStyleFirst(a.OldStyle, b.OldStyle), strings.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(s.Counts, func(a, b status.Count) int { // they have the order of states
		return cmp.Or(oldStyleFirst(a.OldStyle, b.OldStyle), strings.Compare(a.Authority, b.Authority), strings.Compare(a.Type, b.Type))
	})
	slices.SortFunc(s.Resources, func(a, b status.Resource) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Name.String(), b.Name.String()))
	})
}

func oldStyleFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// picture returns an unordered snapshot, with or without resources.
func (l *loop) picture(resources bool) status.Snapshot {
	c, now := l.client, l.now
	s := status.Snapshot{Taken: now, NodeID: c.nodeID, SlowWatchers: c.slow.Load()}
	for _, ses := range l.sessions {
		s.Servers = append(s.Servers, ses.picture())
		first := len(s.Traffic)
		for _, t := range ses.traffic {
			s.Traffic = append(s.Traffic, status.Traffic{Server: ses.server, Type: t.typ.Name, Version: t.version, Valid: t.valid, Invalid: t.invalid})
		}
		slices.SortFunc(s.Traffic[first:], func(a, b status.Traffic) int { return strings.Compare(a.Type, b.Type) })
	}
	for a := range c.allScopes() {
		s.Authorities = append(s.Authorities, a.picture(a == c.oldStyle))
		for n := range a.machine.Counts() {
			s.Counts = append(s.Counts, status.Count{
				Authority: a.name, OldStyle: a == c.oldStyle, Type: n.Type.Name, State: n.State.String(), Cached: n.Cached, Resources: n.Resources,
			})
		}
		if !resources {
			continue
		}
		for e := range a.machine.Entries() {
			s.Resources = append(s.Resources, picture(e, a.name, now))
		}
	}
	return s
}

func (ses *session) picture() status.Server {
	isOpen, isOpening, retryAt := ses.machine.Status()
	state := status.Idle
	switch {
	case isOpen:
		state = status.Connected
	case isOpening:
		state = status.Connecting
	case !retryAt.IsZero():
		state = status.Waiting
	}
	n := &ses.counts
	return status.Server{
		Entry: ses.server, State: state, Connected: state != status.Idle && !ses.failing, Failures: ses.failures, Delta: ses.machine.Delta(), RetryAt: retryAt, Err: ses.err, ErrAt: ses.errAt,
		DownSince: ses.outage.since, Attempts: ses.outage.attempts,
		Streams: n.opened.Load(), Requests: n.requests.Load(), Responses: n.responses.Load(),
		Rejected: n.rejected.Load(), Repeated: n.repeated.Load(), Sent: n.sent.Load(), Received: n.received.Load(),
	}
}

func (a *authorityScope) picture(oldStyle bool) status.Authority {
	s := status.Authority{Name: a.name, OldStyle: oldStyle}
	for _, ses := range a.sessions {
		s.Servers = append(s.Servers, ses.server)
	}
	if i, ok := a.machine.Active(); ok {
		s.Active, s.Stored = s.Servers[i], a.sessions[i].store != nil
	}
	return s
}

func picture(e authority.Entry, name string, now time.Time) status.Resource {
	r := status.Resource{
		Type: e.Type.Name, Name: e.Name, Authority: name, State: e.State.String(),
		Update: e.Update, Origin: e.Origin, Version: e.Version, Updated: e.Updated, Expires: e.Expires, Err: e.Err, ErrAt: e.FailedAt,
		RejectedVersion: e.RejectedVersion, RejectedAt: e.RejectedAt, RejectedMessage: e.RejectedMessage, Collection: e.Collection,
	}
	for _, w := range e.Watchers {
		var behind time.Duration
		if w, ok := w.(interface {
			behind(now time.Time) time.Duration
		}); ok {
			behind = w.behind(now)
		}
		r.Watchers = append(r.Watchers, status.Watcher{Behind: behind})
	}
	return r
}
