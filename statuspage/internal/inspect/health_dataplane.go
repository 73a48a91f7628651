package inspect

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// failed is the connectivity state of something that no call gets through.
const failed = "TRANSIENT_FAILURE"

// target adds the problems of a channel.
func (d *diagnosis) target(t *Target) {
	problem := func(l Level, order int, format string, args ...any) {
		d.add(Problem{Level: l, Client: t.Client, Text: fmt.Sprintf(format, args...), order: order})
	}
	switch {
	case t.Failing:
		problem(Broken, byTarget, "calls to %s fail: %s", t.Target.Target, t.Err)
	case t.State == failed:
		problem(Broken, byTarget, "calls to %s fail: no endpoint is connected", t.Target.Target)
	}
	for i := range t.Clusters {
		c := &t.Clusters[i]
		switch {
		case c.Err != "":
			problem(Broken, byCluster, "cluster %q of %s is unusable: %s", c.Name, t.Target.Target, c.Err)
		case c.State == failed:
			problem(Broken, byCluster, "cluster %q of %s has no connected endpoint", c.Name, t.Target.Target)
		}
		for k := range c.Leaves {
			l := &c.Leaves[k]
			if k > 0 && l.InUse {
				problem(Degraded, byCluster, "cluster %q of %s uses leaf cluster %q instead of %q", c.Name, t.Target.Target, l.Name, c.Leaves[0].Name)
			}
			d.leaf(t, l)
		}
	}
}

// leaf adds the problems of a leaf cluster that is in use.
func (d *diagnosis) leaf(t *Target, l *dataplane.Leaf) {
	for i := range l.Priorities {
		p := &l.Priorities[i]
		if i > 0 && p.InUse && l.InUse {
			d.add(Problem{
				Level: Degraded, Client: t.Client, order: byCluster,
				Text: fmt.Sprintf("cluster %q of %s uses priority %d", l.Name, t.Target.Target, p.Number),
			})
		}
		for k := range p.Localities {
			for n := range p.Localities[k].Endpoints {
				e := &p.Localities[k].Endpoints[n]
				if text := endpointProblem(e); text != "" {
					d.add(Problem{
						Level: Degraded, Client: t.Client, order: byEndpoint,
						Text: fmt.Sprintf("endpoint %s of cluster %q %s", first(e.Addresses), l.Name, text),
					})
				}
			}
		}
	}
}

// endpointProblem returns the problem of an endpoint, or "".
func endpointProblem(e *dataplane.Endpoint) string {
	switch {
	case e.Ejected:
		return "is ejected by outlier detection"
	case e.State == failed && e.Err != "":
		return "cannot be reached: " + e.Err
	case e.State == failed:
		return "cannot be reached"
	}
	return ""
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// server adds the ports that do not serve.
func (d *diagnosis) server(s Server) {
	for _, p := range s.Ports {
		if p.Mode == dataplane.NotServing {
			d.add(Problem{
				Level: Broken, Client: clientID(s.Env, 1, "#server"), Type: "envoy.config.listener.v3.Listener", Name: p.Listener, order: byPort,
				Text: fmt.Sprintf("port %s does not serve: %s", p.Address, p.Reason),
			})
		}
		for _, g := range p.Generations {
			for _, c := range g.FilterChains {
				if c.Err != "" && g.DrainingSince.IsZero() {
					d.add(Problem{
						Level: Broken, Client: clientID(s.Env, 1, "#server"), order: byPort,
						Text: fmt.Sprintf("calls on port %s, filter chain %q, fail: %s", p.Address, c.Name, c.Err),
					})
				}
			}
		}
	}
}
