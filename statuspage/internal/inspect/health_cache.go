package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// resourceProblems are the problems of the resources of a client in one state.
type resourceProblems struct {
	key  string
	list []Problem
	more int
}

// A problemCache keeps the resource problems of clients, because the snapshot of a client with many
// resources takes long. A change of them is an event or changes the counts.
type problemCache struct {
	mu      sync.Mutex
	clients map[string]resourceProblems // by ID
}

// of returns the problems of a client. A closed client has none.
func (p *problemCache) of(ctx context.Context, s *Source, c ClientSummary) (resourceProblems, error) {
	last := uint64(0)
	if events := c.status.Events(); len(events) > 0 {
		last = events[len(events)-1].Number
	}
	key := fmt.Sprint(last, c.Summary.Counts)
	p.mu.Lock()
	known, ok := p.clients[c.ID]
	p.mu.Unlock()
	if ok && known.key == key {
		return known, nil
	}
	snapshot, err := s.snapshot(ctx, c.Client)
	if cause := ctx.Err(); cause != nil {
		return resourceProblems{}, cause
	}
	if err != nil {
		return resourceProblems{}, nil
	}
	d := newDiagnosis()
	d.resources(c.Client, &snapshot)
	fresh := resourceProblems{key, d.problems, d.more}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients[c.ID] = fresh
	return fresh, nil
}

// keep forgets all other clients.
func (p *problemCache) keep(open []ClientSummary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.clients, func(id string, _ resourceProblems) bool {
		return !slices.ContainsFunc(open, func(c ClientSummary) bool { return c.ID == id })
	})
}
