// Package inspect derives the views of the status page from environments: health, chains of resources,
// lists, details, and the route of a call. The views are values that marshal to JSON. Each of them has a
// limit, whatever the control plane sends.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// maxSnapshots is the limit of snapshots that are taken at the same time. A snapshot of 100,000 resources
// keeps the client from other work for a while.
const maxSnapshots = 2

// ErrUnknown is the error of a name that no view has. The client or the resource may have gone.
var ErrUnknown = errors.New("not known")

// A Source reads environments.
type Source struct {
	envs     func() []*xdsforge.Env
	slots    chan struct{}
	problems problemCache
}

// NewSource returns a Source of the environments that envs returns at the time of each view.
func NewSource(envs func() []*xdsforge.Env) *Source {
	return &Source{envs: envs, slots: make(chan struct{}, maxSnapshots), problems: problemCache{clients: make(map[string]resourceProblems)}}
}

// A Client is an xDS client of an environment.
type Client struct {
	// ID identifies the client among those of all environments, such as "1.1.xds:///checkout": the
	// number of the environment, the number among clients of the same scope, and the scope.
	ID string `json:"id"`
	// Scope is the key of the client (gRFC A71).
	Scope string `json:"scope,omitzero"`
	// Env is the number of the environment, from 1.
	Env int `json:"env"`

	env    *xdsforge.Env
	status xdsforge.ClientStatus
}

// Label returns a text for people.
func (c Client) Label() string {
	switch c.Scope {
	case "":
		return "(unnamed client)"
	case "#server":
		return "gRPC servers"
	}
	return c.Scope
}

// Clients returns the open clients, ordered by environments and scopes.
func (s *Source) Clients() []Client {
	var out []Client
	for i, env := range s.envs() {
		same := make(map[string]int)
		for _, c := range env.Clients() {
			scope := c.Scope()
			same[scope]++
			out = append(out, Client{ID: clientID(i+1, same[scope], scope), Scope: scope, Env: i + 1, env: env, status: c})
		}
	}
	return out
}

func clientID(env, number int, scope string) string {
	return strconv.Itoa(env) + "." + strconv.Itoa(number) + "." + scope
}

// Client returns the client with an ID. The error is an ErrUnknown.
func (s *Source) Client(id string) (Client, error) {
	for _, c := range s.Clients() {
		if c.ID == id {
			return c, nil
		}
	}
	return Client{}, fmt.Errorf("client %q is %w", id, ErrUnknown)
}

// Follow calls f with each further event of the client until ctx is done or the client is closed.
func (c Client) Follow(ctx context.Context, f func(status.Event)) {
	past := uint64(0)
	if events := c.status.Events(); len(events) > 0 {
		past = events[len(events)-1].Number
	}
	for e := range c.status.FollowEvents(ctx) {
		if e.Number > past {
			f(e)
		}
	}
}

// snapshot returns the snapshot of a client. It waits while others are taken.
func (s *Source) snapshot(ctx context.Context, c Client) (status.Snapshot, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return status.Snapshot{}, ctx.Err()
	}
	return c.status.Snapshot(ctx)
}

// A Target is a gRPC channel with the client of its target.
type Target struct {
	// Client is the ID of the client.
	Client string `json:"client"`
	dataplane.Target
}

// Targets describes the channels that are not idle, ordered by environments and targets.
func (s *Source) Targets(ctx context.Context) ([]Target, error) {
	var out []Target
	for i, env := range s.envs() {
		targets, err := env.Targets(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range targets {
			out = append(out, Target{clientID(i+1, 1, t.Target), t})
		}
	}
	return out, nil
}

// A Server is a gRPC server.
type Server struct {
	// Env is the number of the environment, from 1.
	Env int `json:"env"`
	dataplane.Server
}

// Servers describes the gRPC servers, ordered by environments.
func (s *Source) Servers() []Server {
	var out []Server
	for i, env := range s.envs() {
		for _, d := range env.Servers() {
			out = append(out, Server{i + 1, d})
		}
	}
	return out
}

// A ClientSummary is a client with the summary of its state.
type ClientSummary struct {
	Client
	Summary status.Snapshot `json:"summary"`
	// Valid, Waiting and Invalid are the numbers of resources in use without a problem, without an
	// answer, and with a problem.
	Valid   int `json:"valid"`
	Waiting int `json:"waiting"`
	Invalid int `json:"invalid"`
	// Level is the worst level of the resources. On the overview, it includes channels and ports.
	Level Level `json:"level"`
}

// Summaries returns the clients without their resources. It leaves out clients that were closed since.
func (s *Source) Summaries(ctx context.Context) ([]ClientSummary, error) {
	var out []ClientSummary
	for _, c := range s.Clients() {
		summary, err := s.Summary(ctx, c)
		if cause := ctx.Err(); cause != nil {
			return nil, cause
		}
		if err == nil {
			out = append(out, summary)
		}
	}
	return out, nil
}

// Summary returns a client without its resources.
func (s *Source) Summary(ctx context.Context, c Client) (ClientSummary, error) {
	summary, err := c.status.Summary(ctx)
	if err != nil {
		return ClientSummary{}, err
	}
	cs := ClientSummary{Client: c, Summary: summary, Level: Healthy}
	for _, n := range summary.Counts {
		level := levelOf(n.State, n.Cached)
		if Worse(level, cs.Level) > 0 {
			cs.Level = level
		}
		switch level {
		case Healthy:
			cs.Valid += n.Resources
		case Waiting:
			cs.Waiting += n.Resources
		default:
			cs.Invalid += n.Resources
		}
	}
	return cs, nil
}

// A TypeLevel is the number of resources of a type, with the worst level among them.
type TypeLevel struct {
	Type      string
	Resources int
	Worst     Level
}

// Types returns the types of the client's resources, in the order of a chain.
func (c ClientSummary) Types() []TypeLevel {
	var out []TypeLevel
	for _, n := range c.Summary.Counts {
		i := slices.IndexFunc(out, func(t TypeLevel) bool { return t.Type == n.Type })
		if i < 0 {
			i = len(out)
			out = append(out, TypeLevel{Type: n.Type, Worst: Healthy})
		}
		out[i].Resources += n.Resources
		if l := levelOf(n.State, n.Cached); l.rank() > out[i].Worst.rank() {
			out[i].Worst = l
		}
	}
	order := []string{"Listener", "ScopedRouteConfiguration", "RouteConfiguration", "VirtualHost", "Cluster", "ClusterLoadAssignment"}
	slices.SortStableFunc(out, func(a, b TypeLevel) int {
		return cmp.Compare(uint(slices.Index(order, ShortType(a.Type))), uint(slices.Index(order, ShortType(b.Type)))) // unknown types are last
	})
	return out
}

// An Event is an event of a client.
type Event struct {
	Client string       `json:"client"`
	Label  string       `json:"-"`
	Event  status.Event `json:"event"`
}

// An EventFilter selects events. Empty fields select all.
type EventFilter struct {
	Client string
	Kind   string
	// Text is a part of the event's text, in any case.
	Text string
}

// Events returns the recorded events that a filter selects, the newest first.
func (s *Source) Events(f EventFilter) []Event {
	var out []Event
	text := strings.ToLower(f.Text)
	for _, c := range s.Clients() {
		if f.Client != "" && f.Client != c.ID {
			continue
		}
		for _, e := range c.status.Events() {
			if f.Kind == "" || f.Kind == string(e.Kind) {
				if text == "" || strings.Contains(strings.ToLower(e.String()), text) {
					out = append(out, Event{c.ID, c.Label(), e})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int {
		return cmp.Or(b.Event.Time.Compare(a.Event.Time), cmp.Compare(b.Event.Number, a.Event.Number))
	})
	return out
}
