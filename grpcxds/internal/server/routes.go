package server

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// routes has the routing of each filter chain, at one moment.
type routes struct {
	chains map[*listener.Manager]*routing
	nodeID string
	bad    []string
}

// A routing routes the calls of one filter chain. It is immutable.
type routing struct {
	nodeID string
	update *route.Update
	err    error // the status of every call, if update is nil
	// filters apply to routes without overrides.
	filters *filterchain.ServerChain
	// others has the routes with overrides, and the routes that a server cannot use.
	others map[*route.Route]filtering
}

// A filtering has the filters of one route. err is the status of every call if the filters cannot be made. end is the
// status of every call that has passed the filters, if the route is not for servers.
type filtering struct {
	filters  *filterchain.ServerChain
	err, end error
}

// pass runs the filters for a call, and then ends the call if the route is not for servers.
func (f filtering) pass(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
	ctx, err := f.filters.Intercept(ctx, call)
	if err == nil {
		err = f.end
	}
	return ctx, err
}

// newRoutes makes the routes of a Listener from a snapshot.
func newRoutes(c *Config, s *tree.Snapshot, u *listener.Update) *routes {
	r := &routes{chains: make(map[*listener.Manager]*routing), nodeID: c.NodeID}
	judged := make(map[*route.Update]bool)
	for m := range managers(u) {
		update, err := find(c.Client, s, m)
		if err != nil {
			r.chains[m] = &routing{err: r.fail(err)}
			continue
		}
		if !judged[update] {
			judged[update] = true
			r.judge(update)
		}
		r.chains[m] = r.compile(c, m, update)
	}
	return r
}

// managers yields the connection manager of each filter chain.
func managers(u *listener.Update) func(func(*listener.Manager) bool) {
	return func(yield func(*listener.Manager) bool) {
		for i := range u.FilterChains {
			if m := u.FilterChains[i].Manager(); m != nil && !yield(m) {
				return
			}
		}
		if u.DefaultFilterChain != nil && u.DefaultFilterChain.Manager() != nil {
			yield(u.DefaultFilterChain.Manager())
		}
	}
}

// find returns the RouteConfiguration of a filter chain, or the reason why there is none.
func find(c resource.Client, s *tree.Snapshot, m *listener.Manager) (*route.Update, error) {
	switch r := m.Routes.(type) {
	case listener.Inline:
		if u, ok := r.Config.(*route.Update); ok {
			return u, nil
		}
	case listener.RDS:
		ref, err := route.Type().Ref(c, r.Name)
		if err != nil {
			return nil, err
		}
		return tree.Get[*route.Update](s, ref)
	}
	return nil, fmt.Errorf("a filter chain's routes are a %T; there must be a RouteConfiguration", m.Routes)
}

// of returns the routing of one filter chain.
func (r *routes) of(m *listener.Manager) *routing { return r.chains[m] }

// problems returns the reasons why calls fail.
func (r *routes) problems() []string { return r.bad }

// problem records a problem. Only the problems that a warning lists keep their text, because each of many routes may
// have one.
func (r *routes) problem(format string, args ...any) {
	text := ""
	if len(r.bad) < maxProblems {
		text = printable.Text(fmt.Sprintf(format, args...), printable.Quoted)
	}
	r.bad = append(r.bad, text)
}

// label quotes a name for an error or a log. It clips long names, because each of many routes may have an error.
func label(name string) string { return printable.Quote(name, printable.Short) }

// judge records the routes that a server cannot use (A36).
func (r *routes) judge(u *route.Update) {
	for i := range u.VirtualHosts {
		h := &u.VirtualHosts[i]
		for j := range h.Routes {
			if t := &h.Routes[j]; t.Ignored == "" && !served(t) {
				r.problem("RouteConfiguration %s: the action of route %d %s of virtual host %s is not non_forwarding_action",
					label(u.Name().String()), j, label(t.Name), label(h.Name))
			}
		}
	}
}

// served reports whether a server may accept the calls of a route (A36).
func served(r *route.Route) bool {
	_, ok := r.Action.(route.NonForwarding)
	return ok
}

// compile makes the filters of each route.
func (r *routes) compile(c *Config, m *listener.Manager, u *route.Update) *routing {
	filters, err := c.Chains.Server(m.Filters)
	if err != nil {
		return &routing{err: r.fail(err)}
	}
	out := &routing{nodeID: c.NodeID, update: u, filters: filters, others: make(map[*route.Route]filtering)}
	for i := range u.VirtualHosts {
		h := &u.VirtualHosts[i]
		common, err := filters.Override(h.Overrides)
		for j := range h.Routes {
			t := &h.Routes[j]
			if served(t) && len(h.Overrides)+len(t.Overrides) == 0 {
				continue
			}
			f := filtering{err: err}
			if !served(t) { // calls pass the filters first (A36)
				f.end = unavailable(c.NodeID, "the route %s of RouteConfiguration %s is not for servers", label(t.Name), label(u.Name().String()))
			}
			if err == nil {
				f.filters, f.err = common.Override(t.Overrides)
			}
			if f.err != nil {
				f.err = r.fail(f.err)
			}
			out.others[t] = f
		}
	}
	return out
}

// unavailable returns the status of calls that fail because of the configuration. Like the status of grpc-go's
// server, it has the node ID, by which callers and control planes can identify the server.
func unavailable(nodeID, format string, args ...any) error {
	return status.Errorf(codes.Unavailable, "[xDS node id: %s]: xds: %s", nodeID, fmt.Sprintf(format, args...))
}

// fail returns the status of calls that cannot succeed. It tells callers only the resource. The cause and the control
// plane are logged.
func (r *routes) fail(err error) error {
	r.problem("%v", err)
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
	return filtering{filters: r.filters}, nil
}
