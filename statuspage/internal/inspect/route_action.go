package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A ClusterStep is a cluster that the call can go to.
type ClusterStep struct {
	Name string `json:"name"`
	// Share is the cluster's share of the calls of the route.
	Share string `json:"share"`
	// Node is the Cluster resource; nil for a cluster specifier plugin.
	Node *Node `json:"resource,omitzero"`
	// Discovery says where the endpoints come from.
	Discovery string `json:"discovery,omitzero"`
	// LBPolicy and LBConfig are the configured LB policy, in gRPC's form.
	LBPolicy string `json:"lbPolicy,omitzero"`
	LBConfig string `json:"lbConfig,omitzero"`
	// Running are the LB policies that run in the channel, with their leaf clusters and priorities.
	Running []string `json:"running,omitempty"`
	State   string   `json:"state,omitzero"`
}

// settings fills in the timeout and the retry policy.
func (e *explanation) settings(m *listener.Manager, h *route.VirtualHost, r *route.Route) {
	e.Timeout = m.MaxStreamDuration
	switch {
	case r.GRPCTimeoutHeaderMax != nil:
		e.Timeout = *r.GRPCTimeoutHeaderMax
	case r.MaxStreamDuration != nil:
		e.Timeout = *r.MaxStreamDuration
	}
	policy := h.RetryFor(r)
	if policy == nil || len(policy.Codes) == 0 {
		return
	}
	names := make([]string, 0, len(policy.Codes))
	for _, c := range policy.Codes {
		names = append(names, codes.Code(c).String())
	}
	e.Retry = fmt.Sprintf("up to %d retries of %s, after %v to %v", policy.MaxRetries, strings.Join(names, ", "), policy.BackOff.Base, policy.BackOff.Max)
}

// clusters fills in the clusters of a route, and the outcome.
func (e *explanation) clusters(r *route.Route) {
	switch a := r.Action.(type) {
	case route.Cluster:
		e.cluster(a.Name, "100 %")
	case route.WeightedClusters:
		for i := range a.Clusters {
			if i == maxChildren {
				break
			}
			e.cluster(a.Clusters[i].Name, share(uint64(a.Clusters[i].Weight), uint64(a.Total)))
		}
	case route.Specifier:
		e.Clusters = append(e.Clusters, ClusterStep{Name: "cluster_specifier_plugin:" + a.Name, Share: "100 %", Discovery: "the plugin chooses the cluster"})
		e.running(&e.Clusters[0])
	case route.NonForwarding:
		e.fail("The call fails: the action of route %q, non_forwarding_action, is for servers (A36)", r.Name)
		return
	default:
		e.fail("The call fails: gRPC does not support the action of route %q (A36)", r.Name)
		return
	}
	e.outcome()
}

// outcome sets the result of a call with clusters.
func (e *explanation) outcome() {
	names := make([]string, 0, len(e.Clusters))
	for i := range e.Clusters {
		c := &e.Clusters[i]
		text := fmt.Sprintf("%q", c.Name)
		if len(e.Clusters) > 1 {
			text = fmt.Sprintf("%q (%s)", c.Name, c.Share)
		}
		names = append(names, text)
		if c.Node != nil && c.Node.Worst.rank() > e.Level.rank() {
			e.Level = c.Node.Worst
		}
		if c.State == failed {
			e.Level = Broken
		}
	}
	last := e.Steps[len(e.Steps)-1]
	e.Result = fmt.Sprintf("The call takes route %d of virtual host %q to %s", last.Number, e.VirtualHost, strings.Join(names, ", "))
	switch e.Level {
	case Broken:
		e.Result += ", which cannot be used"
	case Waiting:
		e.Result += ", which waits for the control plane"
	default:
	}
}

// cluster adds a cluster.
func (e *explanation) cluster(name, part string) {
	c := ClusterStep{Name: name, Share: part}
	c.Node = &Node{Client: e.Call.Client, Type: cluster.Type().Name(), Name: name, State: notWatched, Level: Waiting, Worst: Waiting}
	if canonical, err := e.config.ParseName(name); err == nil {
		if r := e.find(cluster.Type().Name(), canonical); r != nil {
			clear(e.nodes.seen)
			c.Node = e.nodes.node(refOf(r), 0)
			if u, ok := r.Update.(*cluster.Update); ok {
				c.Discovery, c.LBPolicy, c.LBConfig = discovery(u), u.LBPolicy.Name, u.LBPolicy.Config
			}
		}
	}
	e.running(&c)
	e.Clusters = append(e.Clusters, c)
}

func discovery(u *cluster.Update) string {
	switch d := u.Discovery.(type) {
	case cluster.EDS:
		return fmt.Sprintf("EDS %q", d.ServiceName)
	case cluster.LogicalDNS:
		return "DNS name " + d.Target
	case cluster.Aggregate:
		return "aggregate of " + strings.Join(d.Clusters[:min(len(d.Clusters), maxChildren)], ", ")
	}
	return ""
}

// running fills in the state of a cluster in the channel.
func (e *explanation) running(c *ClusterStep) {
	if e.target == nil {
		return
	}
	for i := range e.target.Clusters {
		d := &e.target.Clusters[i]
		if d.Name != c.Name {
			continue
		}
		c.State = d.State
		for _, l := range d.Leaves {
			c.Running = append(c.Running, leafText(&l)...)
		}
	}
}

// leafText describes the policies of a leaf cluster that run.
func leafText(l *dataplane.Leaf) (out []string) {
	for _, p := range l.Priorities {
		if p.Policy == nil {
			continue
		}
		text := fmt.Sprintf("%s in priority %d of %q: %s", policyText(p.Policy), p.Number, l.Name, p.State)
		if p.InUse && l.InUse {
			text += ", in use"
		}
		out = append(out, text)
	}
	return out
}

// policyText returns the name of a policy, and the one of its first child.
func policyText(p *dataplane.Policy) string {
	for _, c := range p.Children {
		if c.Policy != nil {
			return p.Name + " → " + policyText(c.Policy)
		}
	}
	return p.Name
}

// share returns a part of a whole in percent.
func share(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	return strconv.FormatFloat(float64(part)*100/float64(whole), 'g', 4, 64) + " %"
}
