package server

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A routing routes the calls of one filter chain. It is immutable.
type routing struct {
	nodeID string
	update *route.Update
	err    error // the status of every call, if update is nil
	// plain has the filters of routes without overrides. It is nil if there are none.
	plain *filtering
	// others has the routes with overrides, and the routes that a server cannot use.
	others map[*route.Route]filtering
	set    *filterchain.ServerSet // of the filters
}

// A filtering has the filters of one route. err is the status of every call if the filters cannot be made. end is the
// status of every call that has passed the filters, if the route is not for servers.
type filtering struct {
	filters  *filterchain.ServerChain
	err, end error
}

// pass runs the filters for a call, and then ends the call if the route is not for servers. No filter sees messages.
func (f filtering) pass(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
	ctx, err := f.filters.Intercept(ctx, call)
	if err == nil {
		err = f.end
	}
	return ctx, err
}

// A compiler derives the routings of one update, and records the problems.
type compiler struct {
	*server.Problems
	nodeID string
	set    *filterchain.ServerSet
}

// Compile implements [server.Backend].
func (b *backend) Compile(list []server.Routes, p *server.Problems) []*routing {
	r := compiler{p, b.config.NodeID, b.filters.Begin()}
	defer r.set.Release()
	r.Judge(list, served, "non_forwarding_action")
	out := make([]*routing, 0, len(list))
	for _, one := range list {
		var next *routing
		if one.Err != nil {
			next = &routing{err: r.fail(one.Err)}
		} else {
			next = r.compile(b.config, one)
		}
		r.set.Acquire() // it cannot have ended
		next.set = r.set
		out = append(out, next)
	}
	return out
}

// Release implements [server.Routing].
func (r *routing) Release() { r.set.Release() }

// Describe implements [server.Routing].
func (r *routing) Describe() (routes string, err error) {
	if r == nil {
		return "", nil
	}
	if r.update != nil {
		routes = r.update.Name().String()
	}
	return routes, r.err
}

// served reports whether a server may accept the calls of a route (A36).
func served(r *route.Route) bool {
	_, ok := r.Action.(route.NonForwarding)
	return ok
}

// compile makes the filters of each route.
func (r compiler) compile(c *Config, one server.Routes) *routing {
	host := c.Host
	host.Logger = c.Logger
	list, err := c.Chains.Server(r.set, identity(one.FilterChain), host, one.Filters)
	if err != nil {
		return &routing{err: r.fail(err)}
	}
	u := one.Update
	out := &routing{nodeID: c.NodeID, update: u, others: make(map[*route.Route]filtering)}
	for i := range u.VirtualHosts {
		h := &u.VirtualHosts[i]
		common, failed := list.Override(h.Overrides)
		for j := range h.Routes {
			t := &h.Routes[j]
			plain := served(t) && len(h.Overrides)+len(t.Overrides) == 0
			if t.Ignored != "" || plain && out.plain != nil {
				continue
			}
			f := r.filtering(common, failed, t)
			if !served(t) { // calls pass the filters first (A36)
				f.end = unavailable(c.NodeID, "the route %s of RouteConfiguration %s is not for servers", label(t.Name), label(u.Name().String()))
			}
			if plain {
				out.plain = &f
			} else {
				out.others[t] = f
			}
		}
	}
	return out
}

// filtering makes the filters of a route from those of its virtual host, or for the reason why there are none.
func (r compiler) filtering(common *filterchain.ServerList, failed error, t *route.Route) filtering {
	f := filtering{err: failed}
	if f.err == nil {
		common, f.err = common.Override(t.Overrides)
	}
	if f.err == nil {
		f.filters, f.err = common.Chain()
	}
	if f.err != nil {
		f.err = r.fail(f.err)
	}
	return f
}

// identity returns the part of a filter's identity that names its filter chain. An unnamed filter chain has none
// across Listeners.
func identity(c *listener.FilterChain) any {
	if c.Name == "" {
		return c
	}
	return c.Name
}

// unavailable returns the status of calls that fail because of the configuration. Like the status of grpc-go's
// server, it has the node ID, by which callers and control planes can identify the server.
func unavailable(nodeID, format string, args ...any) error {
	return status.Errorf(codes.Unavailable, "[xDS node id: %s]: xds: %s", nodeID, fmt.Sprintf(format, args...))
}

// fail returns the status of calls that cannot succeed. It tells callers only the resource. The cause and the control
// plane are logged.
func (r compiler) fail(err error) error {
	r.Add("%v", err)
	if e, ok := errors.AsType[*resource.Error](err); ok {
		return unavailable(r.nodeID, "%v", &resource.Error{Kind: e.Kind, Type: e.Type, Name: e.Name})
	}
	return unavailable(r.nodeID, "the configuration of the route cannot be used")
}

// choose finds the route of a call and its filters. The error is a status (A36).
func (r *routing) choose(method string, headers headers) (filtering, error) {
	if r.err != nil {
		return filtering{}, r.err
	}
	authority := headers.authority()
	h := r.update.VirtualHost(authority)
	if h == nil {
		return filtering{}, unavailable(r.nodeID, "RouteConfiguration %s has no virtual host for the authority %s",
			label(r.update.Name().String()), label(authority))
	}
	t := h.Match(method, headers)
	if t == nil {
		return filtering{}, unavailable(r.nodeID, "virtual host %s of RouteConfiguration %s has no route for %s",
			label(h.Name), label(r.update.Name().String()), printable.Text(method, printable.Short))
	}
	if f, ok := r.others[t]; ok {
		return f, f.err
	}
	return *r.plain, r.plain.err
}

// label quotes a name for an error. It clips long names, because each of many routes may have an error.
func label(name string) string { return printable.Quote(name, printable.Short) }
