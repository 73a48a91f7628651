package httpxds

import (
	"errors"
	"net/http"
	"strings"

	"github.com/xdsforge/xdsforge/internal/dataplane/routes"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A table routes requests with one configuration.
type table struct {
	*routes.Table[plan, target]
	// canonical has the names of headers that routes read, in lower case, and as http.Header has them. Looking them up here
	// saves an allocation for each request.
	canonical map[string]string
}

// IsFor reports whether the table of another configuration would be equal. A nil table is equal to none.
func (t *table) IsFor(c *xdsconfig.Config) bool { return t != nil && t.Table.IsFor(c) }

// A plan is the HTTP part of a route.
type plan struct {
	hash []route.HashPolicy
}

// A target is the HTTP part of a cluster of a route.
type target struct{}

// compile derives the table of a configuration.
func (t *Transport) compile(c *xdsconfig.Config) *table {
	out := &table{canonical: make(map[string]string)}
	out.Table = routes.Compile(c, &t.refs, routes.Settings{Where: t.where, NodeID: t.env.Config().Node().GetId()}, maker{out})
	return out
}

// A maker makes the HTTP parts of a table.
type maker struct{ table *table }

// Plan implements [routes.Maker].
func (m maker) Plan(_ *route.VirtualHost, r *route.Route) (plan, error) {
	for i := range r.Headers {
		m.reads(r.Headers[i].Name)
	}
	for i := range r.HashPolicies {
		m.reads(r.HashPolicies[i].Header)
	}
	return plan{hash: r.HashPolicies}, nil
}

// reads records that requests' values of a header are read.
func (m maker) reads(name string) { m.table.canonical[name] = http.CanonicalHeaderKey(name) }

// Target implements [routes.Maker].
func (maker) Target(plan, *route.Route, map[string]route.FilterOverride) (target, error) {
	return target{}, nil
}

// Action implements [routes.Maker].
func (maker) Action(r *route.Route) error {
	if _, ok := r.Action.(route.NonForwarding); ok {
		return errors.New("its action, non_forwarding_action, is for servers (A36)")
	}
	return errors.New("unsupported route action")
}

// headers are the headers of a request, with the pseudo-headers that routes may match.
type headers struct {
	table   *table
	request *http.Request
}

// Values implements [route.Headers].
func (h headers) Values(name string) []string {
	if strings.HasPrefix(name, ":") {
		return pseudo(h.request, name)
	}
	return h.request.Header[h.table.canonical[name]]
}

// pseudo returns the value of a pseudo-header.
func pseudo(r *http.Request, name string) []string {
	switch name {
	case ":method":
		if r.Method == "" {
			return []string{http.MethodGet}
		}
		return []string{r.Method}
	case ":authority":
		return []string{hostOf(r)}
	case ":path":
		return []string{r.URL.RequestURI()}
	case ":scheme":
		return []string{r.URL.Scheme}
	default:
		return nil
	}
}

// hostOf returns the Host of a request.
func hostOf(r *http.Request) string {
	if r.Host != "" {
		return r.Host
	}
	return r.URL.Host
}

// Value implements [routes.Values].
func (h headers) Value(p *route.HashPolicy) (string, bool) {
	values := h.Values(p.Header)
	if len(values) == 0 {
		return "", false
	}
	return strings.Join(values, ","), true
}

// pathOf returns the path that routes match. It is the form that is sent, so that the endpoint serves what was matched.
func pathOf(r *http.Request) string {
	if p := r.URL.EscapedPath(); p != "" {
		return p
	}
	return "/"
}
