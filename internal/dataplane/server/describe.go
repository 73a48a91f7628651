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
func (p *Port[R]) Describe(now time.Time) dataplane.Port {
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
	all := make([]*generation[R], 0, len(p.generations))
	for g := range p.generations {
		all = append(all, g)
	}
	p.mu.Unlock()
	slices.SortFunc(all, func(a, b *generation[R]) int { return cmp.Compare(b.number, a.number) })
	for _, g := range all {
		d.Generations = append(d.Generations, g.describe(now))
	}
	return d
}

func (g *generation[R]) describe(now time.Time) dataplane.Generation {
	d := dataplane.Generation{Version: g.listener.Version(), Created: g.created}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		d.DrainingSince, d.Draining = g.closedAt, now.Sub(g.closedAt)
	}
	for i := range g.listener.FilterChains {
		d.FilterChains = append(d.FilterChains, g.describeChain(&g.listener.FilterChains[i], &d.Handshakes))
	}
	if match := g.listener.DefaultFilterChain; match != nil {
		c := g.describeChain(match, &d.Handshakes)
		c.Default = true
		d.FilterChains = append(d.FilterChains, c)
	}
	return d
}

// describeChain describes a filter chain, and adds its handshakes to the sum. g.mu is held.
func (g *generation[R]) describeChain(match *listener.FilterChain, handshakes *int) dataplane.FilterChain {
	d := dataplane.FilterChain{Name: match.Name, TLS: match.TLS != nil}
	if r, ok := g.routes[match]; ok {
		var err error
		if d.Routes, err = r.Describe(); err != nil {
			d.Err = err.Error()
		}
	}
	if c := g.chains[match]; c != nil {
		open, n := c.Connections()
		d.Connections = open
		*handshakes += n
	}
	return d
}
