package route

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// An HTTPRoute has the fields of a route that only profile HTTP reads. It is immutable.
type HTTPRoute struct {
	// Query are the query parameter matchers. A request must match all of them.
	Query []QueryMatcher
	// Redirect or Direct is the action, if it is not a cluster.
	Redirect *Redirect
	Direct   *DirectResponse
	// Rewrite changes the path and the host of requests.
	Rewrite Rewrite
	// Headers changes the headers of requests and responses. It includes the changes of the virtual host and of the
	// RouteConfiguration.
	Headers HeaderChanges
	// Clusters has the header changes of each of WeightedClusters, which come before Headers. It is nil if none has any.
	Clusters []HeaderChanges
	// Timeout is the limit of a request with its retries and its response. 0: none. Default 15 s.
	Timeout time.Duration
	// Retry configures retries. It is the route's own, or else the virtual host's. Nil: none.
	Retry *HTTPRetry
	// RetryBuffer is the limit of the bytes of a request that are kept for retries. It is the route's own, or else the virtual
	// host's. Default math.MaxUint64: there is none.
	RetryBuffer uint64

	conditions *matchConditions // nil: there are none
}

// httpRoutes has the HTTPRoutes of a virtual host, by the index of the route.
type httpRoutes struct {
	list []HTTPRoute
	tls  tlsRequirement
}

// Equal reports whether both have the same content.
func (r *httpRoutes) Equal(o *httpRoutes) bool {
	return r.tls == o.tls && slices.EqualFunc(r.list, o.list, func(a, b HTTPRoute) bool { return reflect.DeepEqual(a, b) })
}

// noHTTPRoutes is the hook of VirtualHost.HTTP. finishHTTP sets the field in profile HTTP.
func noHTTPRoutes(*resource.DecodeContext, []Route) (*httpRoutes, error) {
	return nil, nil //nolint:nilnil // only profile HTTP has them
}

// HTTP returns the fields of the route with this index in Routes that only profile HTTP reads. It is nil in other profiles.
func (h *VirtualHost) HTTP(index int) *HTTPRoute {
	if h == nil || h.http == nil || index >= len(h.http.list) {
		return nil
	}
	return &h.http.list[index]
}

// finishHTTP reads the fields of profile HTTP from the whole message. Other profiles do not pay for them.
func finishHTTP(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	if dc.Types.Profile() != resource.HTTP {
		return
	}
	m := new(routev3.RouteConfiguration)
	if err := dc.Unmarshal(u.Raw(), m); err != nil {
		v.AddError(resource.Path{}, err)
		return
	}
	var p resource.Path
	v.AddMessage(p, m)
	d := httpDecoder{dc, v}
	global := d.changes(&p, m)
	for i, h := range m.GetVirtualHosts() {
		q := p.Item("virtual_hosts", i)
		host := &u.VirtualHosts[i]
		host.http = &httpRoutes{make([]HTTPRoute, len(host.Routes)), d.requirement(&q, h)}
		changes := d.changes(&q, h)
		retry := d.retry(q.Field("retry_policy"), h.GetRetryPolicy())
		for j, r := range h.GetRoutes() {
			at := q.Item("routes", j)
			if host.Routes[j].Ignored != "" {
				continue
			}
			out := &host.http.list[j]
			d.route(&at, out, r)
			out.Headers = join(d.changes(&at, r), changes, global)
			if out.Retry == nil && r.GetRoute().GetRetryPolicy() == nil {
				out.Retry = retry
			}
			out.RetryBuffer = retryBuffer(r, retryBuffer(h, math.MaxUint64))
		}
	}
}

// An httpDecoder decodes the fields of profile HTTP.
type httpDecoder struct {
	dc *resource.DecodeContext
	v  *resource.Violations
}

// defaultTimeout is Envoy's timeout of routes that set none.
const defaultTimeout = 15 * time.Second

func (d httpDecoder) route(p *resource.Path, out *HTTPRoute, m *routev3.Route) {
	for i, q := range m.GetMatch().GetQueryParameters() {
		out.Query = append(out.Query, d.query(p.Item("match.query_parameters", i), q))
	}
	at := p.Field("match")
	out.conditions = d.conditions(&at, m.GetMatch())
	switch a := m.GetAction().(type) {
	case *routev3.Route_Redirect:
		out.Redirect = d.redirect(p.Field("redirect"), a.Redirect)
	case *routev3.Route_DirectResponse:
		out.Direct = d.direct(p.Field("direct_response"), a.DirectResponse)
	case *routev3.Route_Route:
		q := p.Field("route")
		out.Rewrite = d.rewrite(&q, a.Route)
		out.Timeout = defaultTimeout
		if t := a.Route.GetTimeout(); t != nil {
			out.Timeout = d.limit(q.Field("timeout"), t)
		}
		out.Retry = d.retry(q.Field("retry_policy"), a.Route.GetRetryPolicy())
		for i, c := range a.Route.GetWeightedClusters().GetClusters() {
			at := q.Item("weighted_clusters.clusters", i)
			if c.GetWeight().GetValue() > 0 {
				out.Clusters = append(out.Clusters, d.changes(&at, c))
			}
		}
		if !slices.ContainsFunc(out.Clusters, func(c HeaderChanges) bool { return len(c.Request)+len(c.Response) > 0 }) {
			out.Clusters = nil
		}
	}
}

// A QueryMatcher matches a query parameter.
type QueryMatcher struct {
	// Name is the name of the parameter, as it is after percent-decoding.
	Name string
	// Value matches the first value of the parameter. Nil: any value.
	Value *matcher.String
	// Absent says that the parameter must not be present.
	Absent bool
}

func (d httpDecoder) query(p resource.Path, m *routev3.QueryParameterMatcher) QueryMatcher {
	out := QueryMatcher{Name: m.GetName()}
	switch s := m.GetQueryParameterMatchSpecifier().(type) {
	case *routev3.QueryParameterMatcher_StringMatch:
		value, err := d.text(s.StringMatch)
		if err != nil {
			d.v.AddError(p.Field("string_match"), err)
		}
		out.Value = &value
	case *routev3.QueryParameterMatcher_PresentMatch:
		out.Absent = !s.PresentMatch
	}
	return out
}

func (d httpDecoder) text(m *matcherv3.StringMatcher) (matcher.String, error) {
	parts := matcher.PartsOfString(m)
	return parts.Matcher(d.dc)
}

// Match reports whether a request has the parameter. value returns the first value of a parameter.
func (q *QueryMatcher) Match(value func(name string) (string, bool)) bool {
	s, there := value(q.Name)
	if !there || q.Absent {
		return there != q.Absent
	}
	return q.Value == nil || q.Value.Match(s)
}

// A RegexRewrite replaces all matches of a regular expression.
type RegexRewrite struct {
	Pattern      *regexp.Regexp
	Substitution string // a template of package regexp
}

func (d httpDecoder) regexRewrite(p resource.Path, m *matcherv3.RegexMatchAndSubstitute) *RegexRewrite {
	if m == nil {
		return nil
	}
	re, err := matcher.CompilePart(d.dc, m.GetPattern().GetRegex())
	if err != nil {
		d.v.Add(p.Field("pattern.regex"), m.GetPattern().GetRegex(), err.Error())
		return nil
	}
	return &RegexRewrite{re, goTemplate(m.GetSubstitution())}
}

// A Rewrite changes the path and the host of requests before they are sent.
type Rewrite struct {
	// Prefix replaces the matched part of the path, if PrefixSet: the prefix of a Prefix, and the whole of other paths.
	Prefix    string
	PrefixSet bool
	// Regex rewrites the path without its query. Nil: not.
	Regex *RegexRewrite
	// Host replaces the host. HostHeader names the header that has it, HostPath takes it from the path.
	Host       string
	HostHeader string
	HostPath   *RegexRewrite
	// AppendHost appends the former host to X-Forwarded-Host, if the host changes.
	AppendHost bool
}

func (d httpDecoder) rewrite(p *resource.Path, m *routev3.RouteAction) Rewrite {
	out := Rewrite{
		Prefix: m.GetPrefixRewrite(), PrefixSet: m.GetPrefixRewrite() != "",
		Regex: d.regexRewrite(p.Field("regex_rewrite"), m.GetRegexRewrite()), AppendHost: m.GetAppendXForwardedHost(),
	}
	if m.GetPathRewritePolicy() != nil {
		d.v.Add(p.Field("path_rewrite_policy"), m.GetPathRewritePolicy().GetName(), "must not be set; path rewrite policies are not supported")
	}
	if out.PrefixSet && out.Regex != nil {
		d.v.Add(p.Field("regex_rewrite"), nil, "must not be set beside prefix_rewrite")
	}
	switch h := m.GetHostRewriteSpecifier().(type) {
	case *routev3.RouteAction_HostRewriteLiteral:
		out.Host = h.HostRewriteLiteral
	case *routev3.RouteAction_HostRewriteHeader:
		out.HostHeader = strings.ToLower(h.HostRewriteHeader)
	case *routev3.RouteAction_HostRewritePathRegex:
		out.HostPath = d.regexRewrite(p.Field("host_rewrite_path_regex"), h.HostRewritePathRegex)
	}
	return out
}

// A Redirect is the action of a route that redirects requests.
type Redirect struct {
	// Scheme, Host, Port and Path replace those of the URL, unless they are empty. Path may have a query.
	Scheme, Host string
	Port         uint32
	Path         string
	// Rewrite changes the path, if Path is empty.
	Rewrite    Rewrite
	StripQuery bool
	// Status is the status code of the response.
	Status int
}

func (d httpDecoder) redirect(p resource.Path, m *routev3.RedirectAction) *Redirect {
	out := &Redirect{
		Scheme: m.GetSchemeRedirect(), Host: m.GetHostRedirect(), Port: m.GetPortRedirect(), Path: m.GetPathRedirect(),
		StripQuery: m.GetStripQuery(),
	}
	if m.GetHttpsRedirect() {
		out.Scheme = "https"
	}
	switch s := m.GetPathRewriteSpecifier().(type) {
	case *routev3.RedirectAction_PrefixRewrite:
		out.Rewrite.Prefix, out.Rewrite.PrefixSet = s.PrefixRewrite, true
	case *routev3.RedirectAction_RegexRewrite:
		out.Rewrite.Regex = d.regexRewrite(p.Field("regex_rewrite"), s.RegexRewrite)
	}
	statuses := map[routev3.RedirectAction_RedirectResponseCode]int{
		routev3.RedirectAction_MOVED_PERMANENTLY: 301, routev3.RedirectAction_FOUND: 302, routev3.RedirectAction_SEE_OTHER: 303,
		routev3.RedirectAction_TEMPORARY_REDIRECT: 307, routev3.RedirectAction_PERMANENT_REDIRECT: 308,
	}
	out.Status = statuses[m.GetResponseCode()]
	return out
}

// A DirectResponse is the action of a route that has its own response.
type DirectResponse struct {
	Status int
	Body   string
}

// maxDirectBody is the limit of the body of a direct response. It is the default of Envoy's
// max_direct_response_body_size_bytes.
const maxDirectBody = 4096

func (d httpDecoder) direct(p resource.Path, m *routev3.DirectResponseAction) *DirectResponse {
	out := &DirectResponse{Status: int(m.GetStatus())}
	switch b := m.GetBody().GetSpecifier().(type) {
	case nil:
	case *corev3.DataSource_InlineBytes:
		out.Body = string(b.InlineBytes)
	case *corev3.DataSource_InlineString:
		out.Body = b.InlineString
	default: // a control plane names no files and variables of the program's machine
		d.v.Add(p.Field("body"), nil, "must be inline_bytes or inline_string")
	}
	if len(out.Body) > maxDirectBody {
		d.v.Add(p.Field("body"), len(out.Body), "must have at most 4096 bytes")
	}
	return out
}

// limit reads a time limit.
func (d httpDecoder) limit(p resource.Path, m *durationpb.Duration) time.Duration {
	out := convert.Duration(p, m, d.v)
	if out < 0 {
		d.v.Add(p, out, "must be a duration of at least 0s")
	}
	return out
}
