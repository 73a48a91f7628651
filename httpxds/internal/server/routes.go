package server

import (
	"net/http"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A routing routes the requests of one filter chain. It is immutable.
type routing struct {
	// set counts the requests, and ends the filters after the last one.
	set    *filters.Set[httpfilter.ServerInstance]
	update *route.Update
	err    error // why all requests fail
	// handlers has a handler for each route, with its filters and its action.
	handlers map[*route.Route]http.Handler
	// unmatched is the handler of requests without a route. As in Envoy, they pass the filters and then get 404.
	unmatched http.Handler
	// secure redirects requests that must use TLS, after the filters. It is nil if no virtual host requires TLS.
	secure http.Handler
}

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

// Release implements [server.Routing].
func (r *routing) Release() { r.set.Release() }

// Compile implements [server.Backend]. All filter chains of an update have one set of filters.
func (b *backend) Compile(list []server.Routes, p *server.Problems) []*routing {
	local := localRoutes(list)
	p.Judge(list, func(t *route.Route) bool { return local[t] || b.served(t) }, "one that the server serves")
	set := b.instances.Begin()
	defer set.Release() // each routing keeps it
	out := make([]*routing, 0, len(list))
	ids := chainIDs(list)
	for i, one := range list {
		set.Acquire() // it cannot have ended
		if one.Err != nil {
			p.Add("%v", one.Err)
			out = append(out, &routing{set: set, err: one.Err})
			continue
		}
		out = append(out, b.compile(b.newChainFilters(set, ids[i], one.Filters), one.Update, p))
	}
	return out
}

// chainIDs returns an ID for each filter chain, which stays the same across updates: its name, or its index if the name
// is not unique.
func chainIDs(list []server.Routes) []any {
	count := make(map[string]int)
	for _, r := range list {
		count[r.FilterChain.Name]++
	}
	out := make([]any, len(list))
	for i, r := range list {
		if out[i] = i; count[r.FilterChain.Name] == 1 {
			out[i] = r.FilterChain.Name
		}
	}
	return out
}

// compile creates the handler of each route. Routes without overrides share theirs.
func (b *backend) compile(c *chainFilters, u *route.Update, p *server.Problems) *routing {
	out := &routing{set: c.Set, update: u, handlers: make(map[*route.Route]http.Handler)}
	unmatched, failed := wrap(c, filterlist.Position{}, http.HandlerFunc(notFound))
	if out.unmatched = unmatched; failed != nil {
		out.unmatched = http.HandlerFunc(unavailable)
	}
	out.secure = secured(c, u)
	reported := false                     // that the filters fail without a route
	common := make(map[bool]http.Handler) // for served routes and for others
	for i := range u.VirtualHosts {
		h := &u.VirtualHosts[i]
		for j := range h.Routes {
			t := &h.Routes[j]
			handler, shared := b.action(t, h.HTTP(j))
			plain := shared && len(h.Overrides)+len(t.Overrides) == 0
			_, served := t.Action.(route.NonForwarding)
			if plain && common[served] != nil {
				out.handlers[t] = common[served]
				continue
			}
			wrapped, err := wrap(c, filterlist.Position{Config: u, VirtualHost: h, Route: j}, handler)
			if err != nil {
				p.Add("%v", err)
				reported = reported || failed != nil && err.Error() == failed.Error()
				wrapped = http.HandlerFunc(unavailable)
			}
			if out.handlers[t] = wrapped; plain {
				common[served] = wrapped
			}
		}
	}
	if failed != nil && !reported {
		p.Add("requests without a route: %v", failed)
	}
	return out
}

// served reports whether the server has a handler for the action of a route.
func (b *backend) served(t *route.Route) bool {
	switch t.Action.(type) {
	case route.NonForwarding:
		return true
	case route.Cluster, route.WeightedClusters, route.ClusterHeader, route.Specifier:
		return b.config.Forward != nil
	default:
		return false
	}
}

// unavailable is the handler of requests that fail because of the configuration.
func unavailable(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusServiceUnavailable) }

// notFound is the handler of requests that match no route.
func notFound(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound) }

// handler returns the handler of a request.
func (r *routing) handler(req *http.Request) http.Handler {
	if r.err != nil {
		return http.HandlerFunc(unavailable)
	}
	h := r.update.VirtualHost(req.Host)
	if h == nil {
		return r.unmatched
	}
	if r.secure != nil && insecure(req, h) {
		return r.secure
	}
	i := h.MatchHTTP(req.URL.Path, headers{req})
	if i < 0 {
		return r.unmatched
	}
	return r.handlers[&h.Routes[i]]
}

// headers are the headers of a request, for routes.
type headers struct{ *http.Request }

// Values implements [route.HTTPRequest].
func (h headers) Values(name string) []string {
	switch name {
	case ":method":
		return []string{h.Method}
	case ":authority", "host":
		return []string{h.Host}
	case ":path":
		return []string{h.URL.RequestURI()} // Request.RequestURI may have a scheme and a host
	case ":scheme":
		return []string{origin.Scheme(h.Request)}
	default:
		return h.Header.Values(name)
	}
}

// Query implements [route.HTTPRequest].
func (h headers) Query(name string) (string, bool) {
	values, ok := h.URL.Query()[name]
	if !ok {
		return "", false
	}
	return values[0], true
}

// ClientCertificate returns whether the client presented a certificate, and whether it is valid. The handshake has verified each
// certificate that it has asked for.
func (h headers) ClientCertificate() (presented, validated bool) {
	presented = h.TLS != nil && len(h.TLS.PeerCertificates) > 0
	return presented, presented
}

var _ route.HTTPRequest = headers{}
