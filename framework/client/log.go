package client

import (
	"log/slog"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
)

// logEvent logs an event, unless its place in the code logs more than the event has: outages, ends of streams and
// rejections. docs/logs.md lists all lines.
func (ses *session) logEvent(ev *status.Event) {
	switch ev.Kind {
	case status.EventConnected:
		if ses.outage.since.IsZero() { // otherwise the end of the outage is logged
			ses.log(slog.LevelInfo, "control plane connected")
		}
	case status.EventFellBack:
		if ses.store != nil {
			ses.log(slog.LevelWarn, "no control plane reachable; using the last known good store", "authority", ev.Authority, "old_style", ev.OldStyle)
			return
		}
		ses.log(slog.LevelWarn, "fell back to another control plane", "authority", ev.Authority, "old_style", ev.OldStyle)
	case status.EventReturned:
		ses.log(slog.LevelInfo, "returned to a better control plane", "authority", ev.Authority, "old_style", ev.OldStyle)
	case status.EventAccepted:
		ses.log(slog.LevelDebug, "resources accepted", "type", ev.Type, "version", ev.Version, "resources", ev.Resources)
	case status.EventAskedAgain:
		ses.log(slog.LevelDebug, "resources requested again", "type", ev.Type, "resources", ev.Resources)
	case status.EventMissing:
		ses.log(slog.LevelInfo, "resources missing", "type", ev.Type, "resources", ev.Resources, "name", ev.Name)
	case status.EventResponse:
		if ev.Removed > 0 {
			ses.log(slog.LevelInfo, "resources removed", "type", ev.Type, "version", ev.Version, "resources", ev.Removed)
		}
	default:
	}
}

// logTimeouts logs the resources of one type that did not arrive in time. Collections have a line of their own.
func (ses *session) logTimeouts(list []authority.Resource) {
	n, name := 0, ""
	for _, r := range list {
		if isCollection(r.Name) || r.Name.IsCollection() {
			continue
		}
		n++
		if n == 1 {
			name = r.Name.String()
		}
	}
	if n > 0 {
		ses.log(slog.LevelWarn, "resources do not exist", "type", list[0].Type.Name, "resources", n, "name", name)
	}
}

// logSubscription logs the request of a subscription. In state of the world, a request with the names of the last one
// only answers a response.
func (ses *session) logSubscription(e *ads.Request) {
	if !ses.client.logger.Enabled(ses.client.ctx, slog.LevelDebug) {
		return
	}
	names := e.Subscribe
	if !e.Delta {
		if ses.subscribed == nil {
			ses.subscribed = make(map[*resource.Descriptor][]string)
		}
		last := ses.subscribed[e.Type]
		ses.subscribed[e.Type] = e.Names
		if same := len(last) == len(e.Names) && (len(last) == 0 || &last[0] == &e.Names[0]); same && !e.First {
			return
		}
		names = e.Names
	}
	if len(names) > 0 {
		ses.log(slog.LevelDebug, "resources subscribed", "type", e.Type.Name, "resources", len(names), "name", names[0])
	}
}
