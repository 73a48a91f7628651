package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// outcome describes the calls of a route.
func (r *run) outcome(i int, share uint32) (Outcome, error) {
	h := &r.routes.VirtualHosts[r.host]
	x := &h.Routes[i]
	o := Outcome{Route: i, PerMillion: share, Timeout: r.timeout(x), Retry: retryText(h.RetryFor(x)), Hash: hashText(x.HashPolicies)}
	add := func(name string, perMillion uint32, weighted int) error {
		c, problem, err := r.cluster(name, make(map[string]bool))
		c.PerMillion, c.Filters = perMillion, r.filters(i, weighted)
		o.Clusters = append(o.Clusters, c)
		if perMillion > 0 {
			o.Fails = cmp.Or(o.Fails, problem)
		}
		return err
	}
	switch action := x.Action.(type) {
	case route.Cluster:
		o.Action = fmt.Sprintf("cluster %q", action.Name)
		return o, add(action.Name, share, none)
	case route.WeightedClusters:
		o.Action = fmt.Sprintf("%d weighted clusters", len(action.Clusters))
		for w, c := range action.Clusters {
			part := uint64(share) * uint64(c.Weight) / uint64(max(action.Total, 1))
			if err := add(c.Name, uint32(part), w); err != nil { //nolint:gosec // at most share
				return o, err
			}
		}
	case route.Specifier:
		policy := r.routes.Specifiers[action.Name]
		o.Action = fmt.Sprintf("cluster specifier plugin %q", action.Name)
		c := Cluster{Resource: Resource{Name: action.Name}, PerMillion: share, LBPolicy: policy.Name, Filters: r.filters(i, none)}
		c.LBConfig = rawConfig(policy)
		o.Clusters = []Cluster{c}
		if policy.Name == "" {
			o.Fails = fmt.Sprintf("the plugin %q is not registered", action.Name)
		}
	case route.NonForwarding:
		o.Action, o.Fails = "non_forwarding_action", "the action is for servers (A36)"
	default:
		o.Action, o.Fails = "unsupported", "a channel does not support the action of the route (A28)"
	}
	return o, nil
}

func rawConfig(p resource.LBConfig) json.RawMessage {
	if p.Config == "" {
		return nil
	}
	return json.RawMessage(p.Config)
}

// timeout describes the limit of a call's duration, and the field that sets it (A31).
func (r *run) timeout(x *route.Route) string {
	limit, field := r.listener.API.MaxStreamDuration, "the Listener's max_stream_duration"
	switch {
	case x.GRPCTimeoutHeaderMax != nil:
		limit, field = *x.GRPCTimeoutHeaderMax, "the route's grpc_timeout_header_max"
	case x.MaxStreamDuration != nil:
		limit, field = *x.MaxStreamDuration, "the route's max_stream_duration"
	}
	if limit == 0 {
		return "none"
	}
	return fmt.Sprintf("%s by %s", limit, field)
}

func retryText(p *route.RetryPolicy) string {
	if p == nil || len(p.Codes) == 0 {
		return ""
	}
	names := make([]string, len(p.Codes))
	for i, c := range p.Codes {
		names[i] = codes.Code(c).String()
	}
	return fmt.Sprintf("up to %d times on %s, after %s to %s", p.MaxRetries, strings.Join(names, ", "), p.BackOff.Base, p.BackOff.Max)
}

func hashText(list []route.HashPolicy) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		text := "the channel"
		if p.Header != "" {
			text = "header " + p.Header
			if p.Regex != nil {
				text += fmt.Sprintf(", with %q replaced by %q", p.Regex, p.Substitution)
			}
		}
		if p.Terminal {
			text += ", and no further if it has a value"
		}
		out = append(out, text)
	}
	return out
}

// maxAggregate is the limit of nested aggregate clusters (A37).
const maxAggregate = 16

// cluster describes a cluster. A problem is why calls to it fail.
func (r *run) cluster(name string, above map[string]bool) (c Cluster, problem string, err error) {
	found, u, problem, err := r.load(cluster.Type().Name(), name)
	if found != nil {
		c.Resource = *found
	}
	if u == nil {
		return c, problem, err
	}
	x, ok := u.(*cluster.Update)
	if !ok {
		return c, fmt.Sprintf("the Cluster %q has an unknown update", name), nil
	}
	c.MaxCalls, c.Outlier, c.TLS = x.MaxRequests, x.OutlierDetection != nil, x.TLS != nil
	switch d := x.Discovery.(type) {
	case cluster.EDS:
		c.Discovery = "EDS"
		problem, err = r.assignment(&c, d.ServiceName)
	case cluster.LogicalDNS:
		c.Discovery = "LOGICAL_DNS " + d.Target
	case cluster.Aggregate:
		c.Discovery = "aggregate"
		problem, err = r.aggregate(&c, d.Clusters, above)
		return c, problem, err // the policy of an aggregate has no effect (A75)
	default:
		return c, fmt.Sprintf("the discovery type of Cluster %q is not supported", name), nil
	}
	c.LBPolicy, c.LBConfig = x.LBPolicy.Name, rawConfig(x.LBPolicy)
	return c, problem, err
}

// aggregate describes the clusters of an aggregate. It works if one of them does.
func (r *run) aggregate(c *Cluster, names []string, above map[string]bool) (problem string, err error) {
	if above[c.Name] || len(above) >= maxAggregate {
		return fmt.Sprintf("the aggregate Cluster %q contains itself, or is nested deeper than %d levels (A37)", c.Name, maxAggregate), nil
	}
	above[c.Name] = true
	defer delete(above, c.Name)
	works := false
	for _, name := range names {
		leaf, p, err := r.cluster(name, above)
		if err != nil {
			return "", err
		}
		works = works || p == ""
		problem = cmp.Or(problem, p)
		c.Leaves = append(c.Leaves, leaf)
	}
	if works {
		problem = ""
	}
	return problem, nil
}

// assignment describes the endpoints of a cluster.
func (r *run) assignment(c *Cluster, name string) (problem string, err error) {
	found, u, problem, err := r.load(endpoint.Type().Name(), name)
	c.Assignment = found
	if u == nil {
		return problem, err
	}
	x, ok := u.(*endpoint.Update)
	if !ok {
		return fmt.Sprintf("the ClusterLoadAssignment %q has an unknown update", name), nil
	}
	all, usable, members := 0, 0, false
	for i := range x.Localities {
		l := &x.Localities[i]
		members = members || l.Collection != ""
		for j := range l.Endpoints {
			all++
			if h := l.Endpoints[j].Health; h == endpoint.HealthHealthy || h == endpoint.HealthUnknown {
				usable++
			}
		}
	}
	c.Endpoints = fmt.Sprintf("%d of %d endpoints usable, %d localities", usable, all, len(x.Localities))
	if usable == 0 && !members {
		return fmt.Sprintf("the ClusterLoadAssignment %q has no usable endpoint", name), nil
	}
	return "", nil
}
