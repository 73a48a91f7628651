package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
)

// A Level says how well something works.
type Level string

// The levels, from the best to the worst.
const (
	Healthy  Level = "HEALTHY"
	Waiting  Level = "WAITING"  // no answer yet
	Degraded Level = "DEGRADED" // calls work, but something needs attention
	Broken   Level = "BROKEN"   // calls fail, or a program gets no configuration
)

// rank is higher for worse levels.
func (l Level) rank() int { return slices.Index([]Level{Healthy, Waiting, Degraded, Broken}, l) }

// Worse compares levels. It is positive if a is worse than b.
func Worse(a, b Level) int { return a.rank() - b.rank() }

// levelOf returns the level of a resource in a state of gRFC A88.
func levelOf(state string, inUse bool) Level {
	switch {
	case state == "ACKED":
		return Healthy
	case state == "REQUESTED" && inUse:
		return Healthy
	case state == "REQUESTED":
		return Waiting
	case inUse:
		return Degraded
	}
	return Broken
}

// maxProblems is the limit of the problems in a Health. Further ones are counted.
const maxProblems = 50

// Health is the state of all clients, channels and servers.
type Health struct {
	// State is Healthy, Degraded or Broken.
	State Level `json:"state"`
	// Problems are the reasons, the worst first.
	Problems []Problem `json:"problems,omitempty"`
	// More is the number of further problems.
	More int `json:"more,omitzero"`
}

// A Problem is a reason why the state is not Healthy.
type Problem struct {
	Level Level `json:"level"`
	// Text is a sentence without a period.
	Text string `json:"text"`
	// Client is the ID of the client.
	Client string `json:"client,omitzero"`
	// Type and Name are those of the resource at fault.
	Type string `json:"type,omitzero"`
	Name string `json:"name,omitzero"`
	// ControlPlane is the server of the resource at fault. NodeID helps to find the client in its logs.
	ControlPlane string `json:"controlPlane,omitzero"`
	NodeID       string `json:"nodeId,omitzero"`
	// Version is that of the rejected response.
	Version string `json:"version,omitzero"`

	order int // causes come before effects
}

// The order of problems of one level.
const (
	byResource = iota
	byControlPlane
	byPort
	byCluster
	byTarget
	byEndpoint
)

// A diagnosis collects problems.
type diagnosis struct {
	problems []Problem
	kept     map[Level]int
	more     int
	state    Level
}

func newDiagnosis() *diagnosis { return &diagnosis{state: Healthy, kept: make(map[Level]int)} }

func (d *diagnosis) add(p Problem) {
	if p.Level.rank() > d.state.rank() {
		d.state = p.Level
	}
	if d.kept[p.Level] == maxProblems*(byEndpoint+1) {
		d.more++
		return
	}
	d.kept[p.Level]++
	d.problems = append(d.problems, p)
}

// Health examines everything. It reads resources only of clients that have invalid ones.
func (s *Source) Health(ctx context.Context) (Health, error) {
	d := newDiagnosis()
	summaries, err := s.Summaries(ctx)
	if err != nil {
		return Health{}, err
	}
	for _, c := range summaries {
		d.controlPlanes(&c)
		if c.Invalid == 0 {
			continue
		}
		problems, err := s.problems.of(ctx, s, c)
		if err != nil {
			return Health{}, err
		}
		for _, p := range problems.list {
			d.add(p)
		}
		d.more += problems.more
	}
	s.problems.keep(summaries)
	targets, err := s.Targets(ctx)
	if err != nil {
		return Health{}, err
	}
	for i := range targets {
		d.target(&targets[i])
	}
	for _, server := range s.Servers() {
		d.server(server)
	}
	return d.health(), nil
}

func (d *diagnosis) health() Health {
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(b.Level.rank(), a.Level.rank()), cmp.Compare(a.order, b.order))
	})
	h := Health{State: d.state, Problems: d.problems, More: d.more}
	if n := len(h.Problems); n > maxProblems {
		h.Problems, h.More = h.Problems[:maxProblems], h.More+n-maxProblems
	}
	return h
}

// resources adds the resources with data errors.
func (d *diagnosis) resources(c Client, s *status.Snapshot) {
	for i := range s.Resources {
		r := &s.Resources[i]
		level := levelOf(r.State, r.Update != nil)
		if level.rank() < Degraded.rank() || r.Collection {
			continue
		}
		p := Problem{Level: level, Client: c.ID, Type: r.Type, Name: r.Name.String(), Version: r.RejectedVersion, NodeID: s.NodeID, order: byResource}
		p.Text, p.ControlPlane = Reason(r)
		d.add(p)
	}
}

// Reason returns why a resource is not in its newest version, and the control plane at fault. It returns
// "" for a resource without an error.
func Reason(r *status.Resource) (text, controlPlane string) {
	if r.Update != nil {
		controlPlane = r.Update.Server().URI()
	}
	if r.Err == nil {
		return "", controlPlane
	}
	var e *resource.Error
	if !errors.As(r.Err, &e) {
		return r.Err.Error(), controlPlane
	}
	if e.Server != "" {
		controlPlane = e.Server
	}
	if e.Err == nil {
		return e.Kind.Error(), controlPlane
	}
	return fmt.Sprintf("%v: %v", e.Kind, e.Err), controlPlane
}

// controlPlanes adds unreachable servers and fallbacks.
func (d *diagnosis) controlPlanes(c *ClientSummary) {
	for _, server := range c.Summary.Servers {
		if server.DownSince.IsZero() {
			continue
		}
		p := Problem{Level: Degraded, Client: c.ID, ControlPlane: server.Entry.URI(), NodeID: c.Summary.NodeID, order: byControlPlane}
		p.Text = fmt.Sprintf("control plane %s is unreachable", server.Entry.URI())
		if server.Err != nil {
			p.Text += ": " + server.Err.Error()
		}
		if c.Waiting > 0 && d.needs(c, &server) {
			p.Level = Broken
			p.Text = fmt.Sprintf("%d resources wait, because %s", c.Waiting, p.Text)
		}
		d.add(p)
	}
	for _, a := range c.Summary.Authorities {
		if a.Active == nil || len(a.Servers) == 0 || a.Active.Equal(a.Servers[0]) {
			continue
		}
		name := "old-style names"
		if !a.OldStyle {
			name = fmt.Sprintf("authority %q", a.Name)
		}
		d.add(Problem{
			Level: Degraded, Client: c.ID, ControlPlane: a.Servers[0].URI(), NodeID: c.Summary.NodeID, order: byControlPlane,
			Text: fmt.Sprintf("%s: the client fell back from %s to %s", name, a.Servers[0].URI(), a.Active.URI()),
		})
	}
}

// needs reports whether an authority uses the server.
func (*diagnosis) needs(c *ClientSummary, server *status.Server) bool {
	return slices.ContainsFunc(c.Summary.Authorities, func(a status.Authority) bool { return a.Active.Equal(server.Entry) })
}
