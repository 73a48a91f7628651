package explain

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/protoview"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// An Explainer finds the way of calls.
type Explainer struct {
	// Find returns a resource. One that is not there has the state DOES_NOT_EXIST.
	Find func(ctx context.Context, typ, name string) (*world.Entry, error)
	// Decode returns the update of a resource in use; nil if there is none.
	Decode func(e *world.Entry) (resource.Update, error)
	// Viewer shows configurations of filters.
	Viewer *protoview.Viewer
}

// A run explains one call.
type run struct {
	Explainer
	ctx      context.Context //nolint:containedctx // of one call of Explain
	result   *Result
	listener *listener.Update
	routes   *route.Update
	host     int // the index of the virtual host
	configs  *configs
	// list are the filters of the Listener, with the configurations that are resources of their own.
	list []listed
}

// Explain returns the way of a call through the Listener with a name. The error says that the
// resources cannot be read. A call that fails has a Problem.
func (e Explainer) Explain(ctx context.Context, name string, call Call) (*Result, error) {
	r := &run{Explainer: e, ctx: ctx, result: &Result{Call: call}}
	problem, err := r.findRoutes(name)
	if err == nil && problem == "" {
		problem = r.findHost()
	}
	filters := "" // why the calls fail before they have a route
	if err == nil && problem == "" {
		filters, err = r.findFilters()
	}
	if err == nil && problem == "" {
		problem, err = r.findRoute()
	}
	r.result.Problem = cmp.Or(filters, problem)
	return r.result, err
}

// load returns a resource of the way, and its update. A problem is why there is no update.
func (r *run) load(typ, name string) (out *Resource, u resource.Update, problem string, err error) {
	e, err := r.Find(r.ctx, typ, name)
	if err != nil {
		return nil, nil, "", err
	}
	out = &Resource{Type: typ, Name: e.Name, State: e.State, Version: e.Version, Where: e.Where, Error: e.Error}
	u, decodeErr := r.Decode(e)
	switch {
	case decodeErr != nil:
		out.Error = cmp.Or(out.Error, "xdsctl cannot decode it: "+decodeErr.Error())
		return out, nil, fmt.Sprintf("the %s %q cannot be decoded: %v", short(typ), name, decodeErr), nil
	case u == nil:
		return out, nil, fmt.Sprintf("the %s %q cannot be used: %s", short(typ), name, cmp.Or(e.Error, e.State)), nil
	}
	return out, u, "", nil
}

// findRoutes finds the Listener and its RouteConfiguration.
func (r *run) findRoutes(name string) (problem string, err error) {
	var u resource.Update
	if r.result.Listener, u, problem, err = r.load(listener.Type().Name(), name); u == nil {
		return problem, err
	}
	r.listener, _ = u.(*listener.Update)
	if r.listener == nil || r.listener.API == nil {
		return fmt.Sprintf("the Listener %q has no api_listener, so that it is none of a channel (A27)", name), nil
	}
	switch source := r.listener.API.Routes.(type) {
	case listener.Inline:
		r.routes, _ = source.Config.(*route.Update)
		r.result.Routes = &Resource{Type: route.Type().Name(), Name: name, State: r.result.Listener.State, Version: r.result.Listener.Version, Inline: true}
	case listener.RDS:
		if r.result.Routes, u, problem, err = r.load(route.Type().Name(), source.Name); u == nil {
			return problem, err
		}
		r.routes, _ = u.(*route.Update)
	}
	if r.routes == nil {
		return fmt.Sprintf("the Listener %q has no routes that a channel reads", name), nil
	}
	r.configs = newConfigs(r.listener, r.routes, r.Viewer)
	return "", nil
}

// findHost finds the virtual host.
func (r *run) findHost() (problem string) {
	authority := r.result.Call.Authority
	h := r.routes.VirtualHost(authority)
	if h == nil {
		return fmt.Sprintf("no virtual host of %q has a domain for the authority %q", r.routes.Name(), authority)
	}
	for i := range r.routes.VirtualHosts {
		if &r.routes.VirtualHosts[i] == h {
			r.host = i
		}
	}
	r.result.VirtualHost = &VirtualHost{
		Name: h.Name, Domain: domainOf(h, authority), Domains: h.Domains, Number: r.host, Of: len(r.routes.VirtualHosts),
	}
	return ""
}

// findRoute goes through the routes. A route that takes a share of the calls leaves the others to the
// routes below it.
func (r *run) findRoute() (problem string, err error) {
	h := &r.routes.VirtualHosts[r.host]
	left := uint32(million)
	for i := range h.Routes {
		x := &h.Routes[i]
		s := Step{Number: i, Name: x.Name, Match: x.Conditions()}
		if left == 0 {
			s.Verdict = NotReached
		} else if s.Reason = x.Mismatch(r.result.Call.Method, r.result.Call.Headers); s.Reason != "" {
			s.Verdict = PassedOver
		} else {
			s.Verdict, s.PerMillion = Taken, left
			if x.PerMillion != nil && *x.PerMillion < million {
				s.Verdict = Share
				s.PerMillion = uint32(uint64(left) * uint64(*x.PerMillion) / million) //nolint:gosec // at most left
			}
			left -= s.PerMillion
			o, err := r.outcome(i, s.PerMillion)
			if err != nil {
				return "", err
			}
			r.result.Outcomes = append(r.result.Outcomes, o)
			if o.Fails != "" && problem == "" {
				problem = fmt.Sprintf("route %d: %s", i, o.Fails)
			}
		}
		r.result.Steps = append(r.result.Steps, s)
	}
	if left > 0 {
		return fmt.Sprintf("no route of virtual host %q takes %s of the calls to %s", h.Name, Percent(left), r.result.Call.Method), nil
	}
	return problem, nil
}

// short returns the last part of a message's name.
func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
