package statuspage

import (
	"context"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

// An overview is the first page.
type overview struct {
	Health inspect.Health `json:"health"`
	// Clients are ordered by their levels, the worst first.
	Clients []inspect.ClientSummary `json:"clients"`
	// ControlPlanes are ordered as the clients first name them.
	ControlPlanes []controlPlane   `json:"controlPlanes,omitempty"`
	Targets       []channel        `json:"targets,omitempty"`
	Servers       []inspect.Server `json:"servers,omitempty"`
	Events        []inspect.Event  `json:"events,omitempty"`
}

// A channel is a gRPC channel without its LB tree.
type channel struct {
	Client   string `json:"client"`
	Target   string `json:"target"`
	State    string `json:"state,omitzero"`
	Failing  bool   `json:"failing,omitzero"`
	Err      string `json:"error,omitzero"`
	Pending  string `json:"pending,omitzero"`
	Clusters int    `json:"clusters"`
}

// A controlPlane sums up the connections of all clients to one URI.
type controlPlane struct {
	URI       string `json:"uri"`
	Clients   int    `json:"clients"`
	Connected int    `json:"connected"`
	// Unreachable is the number of clients that cannot reach it, the first one since DownSince.
	Unreachable int       `json:"unreachable,omitzero"`
	DownSince   time.Time `json:"downSince,omitzero"`
	// Err is the last error, at ErrAt. The problem may be over.
	Err       string    `json:"error,omitzero"`
	ErrAt     time.Time `json:"errorAt,omitzero"`
	Responses uint64    `json:"responses"`
	Rejected  uint64    `json:"rejected"`
}

func controlPlanes(clients []inspect.ClientSummary) (out []controlPlane) {
	for i := range clients {
		for k := range clients[i].Summary.Servers {
			server := &clients[i].Summary.Servers[k]
			at := slices.IndexFunc(out, func(p controlPlane) bool { return p.URI == server.Entry.URI() })
			if at < 0 {
				at = len(out)
				out = append(out, controlPlane{URI: server.Entry.URI()})
			}
			out[at].add(server)
		}
	}
	return out
}

func (p *controlPlane) add(s *status.Server) {
	p.Clients++
	p.Responses += s.Responses
	p.Rejected += s.Rejected
	if s.State == status.Connected {
		p.Connected++
	}
	if !s.DownSince.IsZero() {
		p.Unreachable++
		if p.DownSince.IsZero() || s.DownSince.Before(p.DownSince) {
			p.DownSince = s.DownSince
		}
	}
	if s.Err != nil && s.ErrAt.After(p.ErrAt) {
		p.Err, p.ErrAt = s.Err.Error(), s.ErrAt
	}
}

func (s *site) overview(ctx context.Context, _ query) (content, error) {
	o := overview{Servers: s.source.Servers()}
	var err error
	if o.Health, err = s.source.Health(ctx); err != nil {
		return content{}, err
	}
	if o.Clients, err = s.source.Summaries(ctx); err != nil {
		return content{}, err
	}
	o.ControlPlanes = controlPlanes(o.Clients)
	for i := range o.Clients { // channels and ports have problems, too
		for _, p := range o.Health.Problems {
			if c := &o.Clients[i]; p.Client == c.ID && inspect.Worse(p.Level, c.Level) > 0 {
				c.Level = p.Level
			}
		}
	}
	slices.SortStableFunc(o.Clients, func(a, b inspect.ClientSummary) int { return inspect.Worse(b.Level, a.Level) })
	targets, err := s.source.Targets(ctx)
	if err != nil {
		return content{}, err
	}
	for _, t := range targets {
		o.Targets = append(o.Targets, channel{t.Client, t.Target.Target, t.State, t.Failing, t.Err, t.Pending, len(t.Clusters)})
	}
	o.Events = s.source.Events(inspect.EventFilter{})
	o.Events = o.Events[:min(len(o.Events), lastEvents)]
	return content{"Overview", s.xdsctl("status", s.addr()), o}, nil
}
