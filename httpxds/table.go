package httpxds

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A table routes requests with one configuration.
type table struct {
	*routes.Table[plan, target]
	// canonical has the names of headers that routes read, in lower case, and as http.Header has them. Looking them up here
	// saves an allocation for each request.
	canonical map[string]string
	// settings say which parts of a request's host matter. Nil: all of them.
	settings *listener.HTTPSettings
	// filters has the lifetimes of the HTTP filters. It is nil if there are none.
	filters *filters.Set[httpfilter.ClientInstance]
	// unmatched has the HTTP filters of requests without a route, which pass them as in Envoy. Nil: there are none.
	unmatched http.RoundTripper
}

// Release releases the clusters and the filters of the table.
func (t *table) Release() {
	t.Table.Release()
	if t.filters != nil {
		t.filters.Release()
	}
}

// IsFor reports whether the table of another configuration would be equal. A nil table is equal to none.
func (t *table) IsFor(c *xdsconfig.Config) bool { return t != nil && t.Table.IsFor(c) }

// A plan is the HTTP part of a route.
type plan struct {
	*route.HTTPRoute
	route *route.Route
	chain http.RoundTripper // the HTTP filters of requests without a cluster; nil: none
	at    filterlist.Position
	tls   bool // requests must have an https URL
}

// A target is the HTTP part of a cluster of a route.
type target struct {
	headers *route.HeaderChanges // of a weighted cluster; nil: none
	chain   http.RoundTripper    // the HTTP filters; nil: none
}

// compile derives the table of a configuration.
func (t *Transport) compile(c *xdsconfig.Config) *table {
	out := &table{canonical: make(map[string]string)}
	if c.Listener != nil && c.Listener.API != nil {
		out.settings = c.Listener.API.HTTP
	}
	m := maker{table: out, config: c.Route, clusters: t.settings.clusters, filters: t.newFilters(c.HTTPFilters())}
	if m.filters != nil {
		out.filters = m.filters.Set
		if list, err := m.filters.Interceptors(filterlist.Position{}); err == nil { // otherwise there is no filter to pass
			out.unmatched = chain(list)
		}
	}
	out.Table = routes.Compile(c, &t.refs, routes.Settings{Where: t.where, NodeID: t.env.Config().Node().GetId()}, m)
	return out
}

// A maker makes the HTTP parts of a table.
type maker struct {
	table    *table
	config   *route.Update
	clusters []string       // that headers may name
	filters  *clientFilters // nil: none
}

// HeaderClusters implements [routes.Maker].
func (m maker) HeaderClusters() []string { return m.clusters }

// Plan implements [routes.Maker].
func (m maker) Plan(h *route.VirtualHost, index int) (plan, error) {
	p := plan{HTTPRoute: h.HTTP(index), route: &h.Routes[index], at: filterlist.Position{Config: m.config, VirtualHost: h, Route: index}}
	p.tls = h.RequiresTLS(true) // the program is internal
	if p.HTTPRoute == nil {
		return p, errors.New("was not read in profile HTTP")
	}
	m.reads(p.route.Headers)
	m.read("cookie") // for conditions of the route
	m.read("content-type")
	if p.Retry != nil {
		m.reads(p.Retry.Headers)
		m.reads(p.Retry.RequestHeaders)
	}
	for i := range p.route.HashPolicies {
		m.read(p.route.HashPolicies[i].Header)
	}
	m.read(p.Rewrite.HostHeader)
	if a, ok := p.route.Action.(route.ClusterHeader); ok {
		m.read(strings.ToLower(a.Name))
	}
	if p.route.Action != nil {
		return p, nil // Target creates the filters of each cluster
	}
	var err error
	p.chain, err = m.chain(p.at)
	return p, err
}

// chain returns the HTTP filters of a position, or nil if there are none.
func (m maker) chain(at filterlist.Position) (http.RoundTripper, error) {
	if m.filters == nil {
		return nil, nil //nolint:nilnil // there is no filter
	}
	list, err := m.filters.Interceptors(at)
	return chain(list), err
}

// reads records that values of headers are read.
func (m maker) reads(list []matcher.Header) {
	for i := range list {
		m.read(list[i].Name)
	}
}

func (m maker) read(name string) { m.table.canonical[name] = http.CanonicalHeaderKey(name) }

// Target implements [routes.Maker].
func (m maker) Target(p plan, index int, overrides map[string]route.FilterOverride) (out target, err error) {
	if p.Clusters != nil {
		out.headers = &p.Clusters[index]
	}
	at := p.at
	if len(overrides) > 0 {
		at.Overrides, at.Cluster = overrides, index
	}
	out.chain, err = m.chain(at)
	return out, err
}

// Action implements [routes.Maker].
func (maker) Action(r *route.Route) error {
	switch r.Action.(type) {
	case nil: // a redirect or a direct response
		return nil
	case route.ClusterHeader:
		return errors.New("its action, cluster_header, needs httpxds.WithHeaderClusters")
	case route.NonForwarding:
		return errors.New("its action, non_forwarding_action, is for servers (A36)")
	default:
		return errors.New("unsupported route action")
	}
}

// A view has the parts of a request that routes read.
type view struct {
	table   *table
	request *http.Request
	id      uint64
	cookies []string // generated for hash policies: values of Set-Cookie
}

// Values implements [route.HTTPRequest]. The name may be that of a pseudo-header. "host" is ":authority", as in Envoy.
func (v *view) Values(name string) []string {
	if strings.HasPrefix(name, ":") || name == "host" {
		return pseudo(v.request, name)
	}
	return v.request.Header[v.table.canonical[name]]
}

// valuesOf returns the function of the headers of a response. ":status" is its status.
func (v *view) valuesOf(resp *http.Response) func(name string) []string {
	return func(name string) []string {
		if name == ":status" {
			return []string{strconv.Itoa(resp.StatusCode)}
		}
		return resp.Header[v.table.canonical[name]]
	}
}

// ClientCertificate returns those of the client whose request a server passes on. Requests of the program itself have none.
func (v *view) ClientCertificate() (presented, validated bool) {
	t := v.request.TLS
	return t != nil && len(t.PeerCertificates) > 0, t != nil && len(t.VerifiedChains) > 0
}

// Query implements [route.HTTPRequest].
func (v *view) Query(name string) (string, bool) {
	values, ok := v.request.URL.Query()[name]
	if !ok {
		return "", false
	}
	return values[0], true
}

// Value implements [routes.Values].
func (v *view) Value(p *route.HashPolicy) (string, bool) {
	switch p.Kind {
	case route.HashCookie:
		if c, err := v.request.Cookie(p.Header); err == nil {
			return c.Value, true
		}
		if p.Generate == "" {
			return "", false
		}
		value := fmt.Sprintf("%016x", rand.Uint64())
		v.cookies = append(v.cookies, p.Header+"="+value+p.Generate)
		return value, true
	case route.HashQuery:
		return v.Query(p.Header)
	case route.HashSourceIP:
		if v.request.RemoteAddr == "" { // the program itself makes the request
			return "", false
		}
		client := origin.Client(v.request).Addr()
		return client.String(), client.IsValid()
	default:
		values := v.Values(p.Header)
		return strings.Join(values, ","), len(values) > 0
	}
}

// pseudo returns the value of a pseudo-header.
func pseudo(r *http.Request, name string) []string {
	switch name {
	case ":method":
		return []string{methodOf(r)}
	case ":authority", "host":
		return []string{hostOf(r)}
	case ":path":
		return []string{r.URL.RequestURI()}
	case ":scheme":
		return []string{schemeOf(r)}
	default:
		return nil
	}
}

func methodOf(r *http.Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// hostOf returns the Host of a request.
func hostOf(r *http.Request) string {
	if r.Host != "" {
		return r.Host
	}
	return r.URL.Host
}

// schemeOf returns the scheme of a request. The scheme xds, which http.Transport.RegisterProtocol allows, is http to others.
func schemeOf(r *http.Request) string {
	if r.URL.Scheme == "https" || r.TLS != nil { // requests of servers have no URL with a scheme
		return "https"
	}
	return "http"
}

// pathOf returns the path that routes match. It is the form that is sent, so that the endpoint serves what was matched.
func pathOf(r *http.Request) string {
	if p := r.URL.EscapedPath(); p != "" {
		return p
	}
	return "/"
}
