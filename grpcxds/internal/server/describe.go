package server

import (
	"cmp"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A modeSince is a mode with the time when it began.
type modeSince struct {
	err   error // the reason not to serve; nil: the port serves
	since time.Time
}

// Describe describes the port at a time. Connections do not wait for it.
func (p *Port) Describe(now time.Time) dataplane.Port {
	d := dataplane.Port{Address: p.lis.Addr().String(), Listener: p.name, Mode: dataplane.Starting, Since: p.opened}
	if m := p.reported.Load(); m != nil {
		d.Mode, d.Since = dataplane.Serving, m.since
		if m.err != nil {
			d.Mode, d.Reason = dataplane.NotServing, m.err.Error()
		}
	}
	p.mu.Lock()
	if p.closed {
		d.Mode, d.Reason, d.Since = dataplane.Stopped, "", p.closedAt
	}
	all := make([]*generation, 0, len(p.generations))
	for g := range p.generations {
		all = append(all, g)
	}
	p.mu.Unlock()
	slices.SortFunc(all, func(a, b *generation) int { return cmp.Compare(b.number, a.number) })
	for _, g := range all {
		d.Generations = append(d.Generations, g.describe(now))
	}
	return d
}

func (g *generation) describe(now time.Time) dataplane.Generation {
	d := dataplane.Generation{Version: g.listener.Version(), Created: g.created, Handshakes: g.handshakes.count()}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		d.DrainingSince, d.Draining = g.closedAt, now.Sub(g.closedAt)
	}
	for i := range g.listener.FilterChains {
		d.FilterChains = append(d.FilterChains, g.chain(&g.listener.FilterChains[i]))
	}
	if chain := g.listener.DefaultFilterChain; chain != nil {
		c := g.chain(chain)
		c.Default = true
		d.FilterChains = append(d.FilterChains, c)
	}
	return d
}

// chain describes a filter chain. g.mu is held.
func (g *generation) chain(chain *listener.FilterChain) dataplane.FilterChain {
	d := dataplane.FilterChain{Name: chain.Name, TLS: chain.TLS != nil}
	if r := g.routes.of(chain.Manager()); r != nil {
		if r.err != nil {
			d.Err = r.err.Error()
		}
		if r.update != nil {
			d.Routes = r.update.Name().String()
		}
	}
	if s := g.servers[chain]; s != nil {
		d.Connections = s.connections.Load()
	}
	return d
}

// count returns the number of connections that have not finished their handshake.
func (h *handshakes) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}
