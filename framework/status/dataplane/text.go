package dataplane

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// String returns a description on one line.
func (t Target) String() string {
	line := fmt.Sprintf("target %s: %s, %d clusters", name(t.Target), word(t.State, "not configured"), len(t.Clusters))
	if t.Listener != "" {
		line += fmt.Sprintf(", listener %s, routes %s, virtual host %s", name(t.Listener), name(t.Routes), name(t.VirtualHost))
	}
	if len(t.Extensions) > 0 {
		line += fmt.Sprintf(", %d configurations of filters", len(t.Extensions))
	}
	if t.Pending != "" {
		line += ", waits: " + text(t.Pending)
	}
	switch {
	case t.Failing:
		line += ", calls fail: " + text(t.Err)
	case t.Err != "":
		line += fmt.Sprintf(", last error at %s: %s", t.ErrAt.Format(time.RFC3339), text(t.Err))
	}
	return line
}

// String returns a description on one line.
func (c Cluster) String() string {
	line := fmt.Sprintf("cluster %s: %s", name(c.Name), word(c.State, "no state"))
	if !c.Created {
		line += ", not called yet"
	}
	if c.BelowPlugin {
		line += ", below a plugin"
	}
	line += policies(c.Policy, c.Waiting)
	if len(c.Leaves) > 0 {
		names := make([]string, 0, len(c.Leaves))
		for _, l := range c.Leaves {
			names = append(names, name(l.Name))
		}
		line += ", leaves " + strings.Join(names, ", ")
	}
	return line + problem(c.Err)
}

// String returns a description on one line.
func (l Leaf) String() string {
	line := fmt.Sprintf("leaf %s: %s, %s", name(l.Name), word(l.State, "not tried"), standing(l.InUse, l.Reason))
	if l.LBPolicy != "" {
		line += ", LB policy " + text(l.LBPolicy)
	}
	line += fmt.Sprintf(", %d priorities, %d of at most %d calls in flight", len(l.Priorities), l.Calls, l.MaxCalls)
	if l.Refused > 0 {
		line += fmt.Sprintf(", %d refused", l.Refused)
	}
	var more strings.Builder
	for _, limit := range l.Limits {
		more.WriteString(", " + limit.String())
	}
	for _, d := range l.Drops {
		more.WriteString(", " + d.String())
	}
	line += more.String()
	if l.Note != "" {
		line += " (" + text(l.Note) + ")"
	}
	return line + problem(l.Err)
}

// String returns a description on one line.
func (l Limit) String() string {
	return fmt.Sprintf("%d of at most %d %s, %d refused", l.Used, l.Max, text(l.Name), l.Refused)
}

// String returns a description on one line.
func (d Drop) String() string {
	return fmt.Sprintf("drops %d of 1000000 calls as %s, %d so far", d.PerMillion, name(d.Category), d.Dropped)
}

// String returns a description on one line.
func (p Priority) String() string {
	n := 0
	for _, l := range p.Localities {
		n += len(l.Endpoints)
	}
	return fmt.Sprintf("priority %d: %s, %s%s, %d localities, %d endpoints",
		p.Number, word(p.State, "not tried"), standing(p.InUse, p.Reason), policies(p.Policy, p.Waiting), len(p.Localities), n)
}

// String returns a description on one line.
func (p Policy) String() string {
	line := text(p.Name) + " " + word(p.State, "no state")
	if n := len(p.Children); n > 0 {
		line += fmt.Sprintf(" with %d children", n)
	}
	return line + problem(p.Err)
}

// String returns a description on one line.
func (c Child) String() string {
	if c.Subset {
		return "subset" + policies(c.Policy, c.Waiting)
	}
	return place(c.Region, c.Zone, c.SubZone) + policies(c.Policy, c.Waiting)
}

// String returns a description on one line.
func (l Locality) String() string {
	return fmt.Sprintf("%s: weight %d, %d endpoints", place(l.Region, l.Zone, l.SubZone), l.Weight, len(l.Endpoints))
}

// String returns a description on one line.
func (e Endpoint) String() string {
	line := fmt.Sprintf("endpoint %s: %s, %s, weight %d, %d calls",
		text(strings.Join(e.Addresses, ", ")), word(e.State, "not connected"), text(e.Health), e.Weight, e.Calls)
	if e.Hostname != "" {
		line += ", hostname " + name(e.Hostname)
	}
	if e.Ejected {
		line += ", ejected"
	}
	return line + problem(e.Err)
}

// String returns a description on one line.
func (s Server) String() string {
	modes := make([]string, 0, len(s.Ports))
	for _, p := range s.Ports {
		modes = append(modes, text(p.Address)+" "+p.Mode)
	}
	return fmt.Sprintf("server with %d ports: %s", len(s.Ports), strings.Join(modes, ", "))
}

// String returns a description on one line.
func (p Port) String() string {
	return fmt.Sprintf("port %s: %s since %s, listener %s, %d generations",
		text(p.Address), p.Mode, p.Since.Format(time.RFC3339), name(p.Listener), len(p.Generations)) + problem(p.Reason)
}

// String returns a description on one line.
func (g Generation) String() string {
	line := "current"
	if !g.DrainingSince.IsZero() {
		line = "draining for " + g.Draining.String()
	}
	var conns int64
	for _, c := range g.FilterChains {
		conns += c.Connections
	}
	return fmt.Sprintf("generation of version %s: %s, %d filter chains, %d connections, %d in handshakes",
		name(g.Version), line, len(g.FilterChains), conns, g.Handshakes)
}

// String returns a description on one line.
func (c FilterChain) String() string {
	line := "filter chain " + name(c.Name)
	if c.Default {
		line += " (default)"
	}
	line += fmt.Sprintf(": %d connections, routes %s", c.Connections, name(c.Routes))
	if c.TLS {
		line += ", TLS"
	}
	return line + problem(c.Err)
}

func name(s string) string { return printable.Quote(s, printable.Short) }

func text(s string) string { return printable.Text(s, printable.Quoted) }

// word returns a state, or the text for none.
func word(state, none string) string {
	if state == "" {
		return none
	}
	return state
}

func standing(inUse bool, reason string) string {
	if inUse {
		return "in use"
	}
	return "not in use: " + text(reason)
}

func policies(current, waiting *Policy) string {
	line := ""
	if current != nil {
		line += ", " + current.String()
	}
	if waiting != nil {
		line += ", then " + waiting.String()
	}
	return line
}

func place(region, zone, subZone string) string {
	return fmt.Sprintf("locality {region=%s, zone=%s, sub_zone=%s}", name(region), name(zone), name(subZone))
}

func problem(err string) string {
	if err == "" {
		return ""
	}
	return ": " + text(err)
}
