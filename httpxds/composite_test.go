package httpxds_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"               // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/matcher/action/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"        // for prototext

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// A choice maps the value of an input to an action.
type choice struct{ value, action string }

// skipped is the action without filters.
const skipped = `[type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter] {}`

// executed returns the action that runs filters: pairs of a name and a configuration.
func executed(filters ...string) string {
	var b strings.Builder
	for i := 0; i < len(filters); i += 2 {
		fmt.Fprintf(&b, ` typed_config { name: %q typed_config { %s } }`, filters[i], filters[i+1])
	}
	return `[type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction] { filter_chain { ` + b.String() + ` } }`
}

// choosing returns a matcher that chooses by a header.
func choosing(header string, choices ...choice) string {
	var b strings.Builder
	for _, c := range choices {
		fmt.Fprintf(&b, ` map { key: %q value { action { name: "a" typed_config { %s } } } }`, c.value, c.action)
	}
	return fmt.Sprintf(`xds_matcher { matcher_tree { input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: %q } } }
		exact_match_map { %s } } }`, header, b.String())
}

// composite returns the composite filter with a matcher.
func composite(matcher string) string {
	return ` http_filters { name: "composite" typed_config { ` + extended(matcher) + ` } }`
}

// extended returns the configuration of a composite filter.
func extended(matcher string) string {
	return `[type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] {
		extension_config { name: "c" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite] {} } } ` + matcher + ` }`
}

// ownMatcher returns the override of a composite filter.
func ownMatcher(matcher string) string {
	return ` typed_per_filter_config { key: "composite" value { [type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute] { ` + matcher + ` } } }`
}

// inner returns the configuration of a filter below envoy.extensions.filters.http.
func inner(message, config string) string {
	return fmt.Sprintf(`[type.googleapis.com/envoy.extensions.filters.http.%s] { %s }`, message, config)
}

// sampled returns an action that runs for a share of requests, in percent.
func sampled(action string, percent int) string {
	return strings.TrimSuffix(action, "}") + fmt.Sprintf(` sample_percent { default_value { numerator: %d } } }`, percent)
}

// A matcher chooses the filters of each request of a client: by headers, pseudo-headers and the override of the route. A request
// without a match passes, as in Envoy.
func TestClientComposite(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("a")))
	change := func(value string) string { return inner("header_mutation.v3.HeaderMutation", adding(value)) }
	teapot := inner("fault.v3.HTTPFault", `abort { http_status: 418 percentage { numerator: 100 } }`)
	w.filtered(composite(choosing("x-team",
		choice{"one", executed("m", change("1"))},
		choice{"two", executed("m", change("1"), "n", change("2"), "f", teapot)},
		choice{"none", skipped},
		choice{"never", sampled(executed("m", change("1")), 0)},
		choice{"always", sampled(executed("m", change("1")), 100)},
		choice{"1,2", executed("m", change("joined"))},
	)), `virtual_hosts { name: "h" domains: "svc"
		routes { match { path: "/method" } route { cluster: "c" } %s }
		routes { match { path: "/path" } route { cluster: "c" } %s }
		routes { match { path: "/host" } route { cluster: "c" } %s }
		routes { match { path: "/scheme" } route { cluster: "c" } %s }
		routes { match { path: "/off" } route { cluster: "c" } %s }
		routes { match { path: "/weighted" } route { weighted_clusters { clusters { name: "c" weight { value: 1 } %s } } } }
		%s }`, ownMatcher(choosing(":method", choice{"GET", executed("m", change("get"))})),
		ownMatcher(choosing(":path", choice{"/path?q", executed("m", change("query"))})),
		ownMatcher(choosing("host", choice{"svc", executed("m", change("host"))})),
		ownMatcher(choosing(":scheme", choice{"http", executed("m", change("scheme"))})),
		ownMatcher(""), ownMatcher(choosing("x-team", choice{"one", executed("m", change("weighted"))})), to("c"))
	rt := w.transport()
	for _, tt := range []struct {
		path  string
		teams []string
		want  string
	}{
		{"/", []string{"one"}, "1: a HTTP/1.1"},
		{"/", []string{"two"}, "2,1: fault filter abort"}, // the last filter responds
		{"/", []string{"none"}, ": a HTTP/1.1"},
		{"/", []string{"never"}, ": a HTTP/1.1"},
		{"/", []string{"always"}, "1: a HTTP/1.1"},
		{"/", []string{"other"}, ": a HTTP/1.1"},
		{"/", nil, ": a HTTP/1.1"},
		{"/", []string{"1", "2"}, "joined: a HTTP/1.1"},
		{"/method", []string{"one"}, "get: a HTTP/1.1"},
		{"/path?q", nil, "query: a HTTP/1.1"},
		{"/path", nil, ": a HTTP/1.1"},
		{"/host", nil, "host: a HTTP/1.1"},
		{"/scheme", nil, "scheme: a HTTP/1.1"},
		{"/off", []string{"one"}, ": a HTTP/1.1"},
		{"/weighted", []string{"one"}, "weighted: a HTTP/1.1"},
		{"/weighted", []string{"two"}, ": a HTTP/1.1"},
	} {
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc"+tt.path, http.NoBody)
		check(t, err)
		r.Header["X-Team"] = tt.teams
		resp, err := rt.RoundTrip(r)
		check(t, err)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if got := strings.Join(resp.Header["X-A"], ",") + ": " + string(body); err != nil || got != tt.want {
			t.Errorf("%s of %q: %s, %v; want %s", tt.path, tt.teams, got, err, tt.want)
		}
	}
}

// An override may have filters for any side. Only the requests of an action that cannot run fail.
func TestClientCompositeFilterOfServers(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, named("a")))
	cors := choosing("x-team", choice{"cors", executed("cors", inner("cors.v3.Cors", ""))})
	w.filtered(composite(""), `virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "" } route { cluster: "c" } %s } }`, ownMatcher(cors))
	rt := w.transport()
	if body, err := get(t, rt, "http://svc/"); err != nil || body != "a HTTP/1.1" {
		t.Errorf("a request without a match: %q, %v", body, err)
	}
	_, err := get(t, rt, "http://svc/", func(r *http.Request) { r.Header.Set("X-Team", "cors") })
	if err == nil || !strings.Contains(err.Error(), `HTTP filter "cors": the filter does not run on this side (A103)`) {
		t.Errorf("a request whose filter is for servers: %v", err)
	}
}

// No form of a path or a header gets past the rules in an action: those for /admin, and those for all requests without the key.
func TestRBACInComposite(t *testing.T) {
	const rules = `rules { action: DENY policies { key: "p" value { principals { any: true } permissions { any: true } } } }`
	const action = `action { name: "a" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction] {
		typed_config { name: "r" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { ` + rules + ` } } } } } }`
	compare := func(header, value string) string {
		return fmt.Sprintf(`single_predicate { input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] {
			header_name: %q } } } value_match { %s } }`, header, value)
	}
	matcher := fmt.Sprintf(`xds_matcher { matcher_list { matchers { predicate { or_matcher { predicate { %s } predicate { not_matcher { %s } } } } on_match { %s } } } }`,
		compare(":path", `prefix: "/admin"`), compare("X-Key", `exact: "secret"`), action)
	const key = "X-Key: secret\r\n"
	for _, tt := range []struct {
		opts    []httpxds.ServerOption
		slashes int // the status of paths with escaped slashes
	}{{nil, http.StatusBadRequest}, {[]httpxds.ServerOption{httpxds.WithEscapedSlashes()}, http.StatusForbidden}} {
		s := newSite(t, http.HandlerFunc(echo), "", nil, tt.opts...)
		s.listen(chain("one", hosts(onRoute("", ""))+composite(matcher)))
		s.serving("")
		for _, r := range []struct {
			line, rest string
			want       int
		}{
			{"GET /", key, http.StatusOK},
			{"GET /", "x-kEY:\tsecret \r\n", http.StatusOK},
			{"GET /public/admin", key, http.StatusOK},
			{"GET /admin", key, http.StatusForbidden},
			{"GET /%61dmin?q", key, http.StatusForbidden},
			{"GET //admin", key, http.StatusForbidden},
			{"GET /./admin", key, http.StatusForbidden},
			{"GET /public/%2e%2E/admin", key, http.StatusForbidden},
			{"GET http://other/admin", key, http.StatusForbidden},
			{"CONNECT //admin", key, http.StatusForbidden},
			{"GET /public%2F..%2fadmin", key, tt.slashes},
			{"GET /public\\..\\admin", key, tt.slashes},
			{"GET /%2Fadmin", key, tt.slashes},
			{"GET /", "", http.StatusForbidden},
			{"GET /", "X-Key:\r\n", http.StatusForbidden},
			{"GET /", "X-Key: Secret\r\n", http.StatusForbidden},
			{"GET /", "X_Key: secret\r\n", http.StatusForbidden},
			{"GET /", key + key, http.StatusForbidden},
			{"POST /", "Transfer-Encoding: chunked\r\nTrailer: X-Key\r\n\r\n0\r\n" + key, http.StatusForbidden},
			{"GET /", "Connection: Upgrade\r\nUpgrade: websocket\r\n", http.StatusForbidden},
			{"CONNECT host:80", "", http.StatusForbidden},
			{"OPTIONS *", "", http.StatusForbidden},
		} {
			if got := s.raw(r.line + " HTTP/1.1\r\nHost: h\r\n" + r.rest + "\r\n"); got != r.want {
				t.Errorf("%q, %q gets %d; want %d", r.line, r.rest, got, r.want)
			}
		}
	}
}

// raw returns the status of the response to a request of HTTP/1.1.
func (s *site) raw(request string) int {
	s.Helper()
	c, err := new(net.Dialer).DialContext(s.ctx, "tcp", s.addr)
	check(s, err)
	defer c.Close()
	_, err = io.WriteString(c, request)
	check(s, err)
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	check(s, err)
	check(s, response.Body.Close())
	return response.StatusCode
}

// A matcher chooses the filters of each request that a server receives. The path is the one that the handler serves.
func TestServerComposite(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	const rules = `rules { action: DENY policies { key: "p" value { principals { any: true } permissions { any: true } } } }`
	deny := executed("rbac", inner("rbac.v3.RBAC", rules))
	change := executed("m", inner("header_mutation.v3.HeaderMutation", adding("1")), "n", inner("header_mutation.v3.HeaderMutation", adding("2")))
	s.listen(chain("one", hosts(onRoute("/path", ownMatcher(choosing(":path", choice{"/path/a", deny}, choice{"/path/b c?q=%20", deny})))+
		onRoute("/scheme", ownMatcher(choosing(":scheme", choice{"http", deny})))+
		onRoute("/client", ownMatcher(choosing("x-team", choice{"f", executed("f", inner("fault.v3.HTTPFault", ""))})))+
		onRoute("/", ""))+composite(choosing("x-team", choice{"eve", deny}, choice{"ann", change}, choice{"bob", skipped}))))
	s.serving("")
	for _, tt := range []struct {
		path, team string
		code       int
		header     string
	}{
		{"/", "eve", 403, ""},
		{"/", "ann", 200, "2,1"}, // the last filter changes the response first
		{"/", "bob", 200, ""},
		{"/", "", 200, ""},
		{"/path/a", "", 403, ""},
		{"/path/./%61", "", 403, ""},
		{"/path/b%20c?q=%20", "", 403, ""},
		{"/path/b", "eve", 200, ""},
		{"/scheme", "", 403, ""},
		{"/client", "f", 503, ""},
		{"/client", "g", 200, ""},
	} {
		a := s.get(tt.path, func(r *http.Request) { r.Header.Set("X-Team", tt.team) })
		if got := strings.Join(a.header["X-A"], ","); a.code != tt.code || got != tt.header {
			t.Errorf("%s of %q: %d %q; want %d %q", tt.path, tt.team, a.code, got, tt.code, tt.header)
		}
	}
}

// Requests fail if the matcher is in the deprecated field, which is not decoded: Envoy would run its filters. An override can replace
// the matcher.
func TestDeprecatedMatcherInComposite(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	s.listen(chain("one", hosts(onRoute("/own", ownMatcher(""))+onRoute("/", ""))+
		composite(`matcher { on_no_match { action { name: "a" typed_config { `+skipped+` } } } }`)))
	s.serving("")
	for path, want := range map[string]int{"/": http.StatusServiceUnavailable, "/own": http.StatusOK} {
		if got := s.get(path).code; got != want {
			t.Errorf("%s gets %d; want %d", path, got, want)
		}
	}
}

// A composite filter may be inside of another one. A request without a match of the inner one passes, too, and so does each request
// of a filter without a matcher. The types of gRPC in the Env change nothing.
func TestNestedComposite(t *testing.T) {
	inside := func(filter string) string {
		return composite(choosing("x-team", choice{"a", executed("inner", extended(choosing("x-role", choice{"b", executed("none", extended(""), "f", filter)})))}))
	}
	change := inner("header_mutation.v3.HeaderMutation", adding("1"))
	w := newWorld(t)
	w.env = w.plane.Env(xdsforge.WithTypes(grpcxds.Register, httpxds.Register))
	w.cluster("c", "", serve(t, named("a")))
	w.filtered(inside(change), `virtual_hosts { name: "h" domains: "svc" %s }`, to("c"))
	rt := w.transport()
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	s.listen(chain("web", hosts(onRoute("/", ""))+inside(change)))
	s.serving("")
	for _, tt := range [][3]string{{"a", "b", "1"}, {"a", "c", ""}, {"b", "b", ""}} {
		edit := func(r *http.Request) { r.Header["X-Team"], r.Header["X-Role"] = tt[:1], tt[1:2] }
		if got := s.get("/", edit).header.Get("X-A"); got != tt[2] {
			t.Errorf("a server responds to %q with %q; want %q", tt[:2], got, tt[2])
		}
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc/", http.NoBody)
		check(t, err)
		edit(r)
		resp, err := rt.RoundTrip(r)
		check(t, err)
		_ = resp.Body.Close()
		if got := resp.Header.Get("X-A"); got != tt[2] {
			t.Errorf("a client has the response %q for %q; want %q", got, tt[:2], tt[2])
		}
	}
}

// On a client, the instances of the filters of actions survive updates, also in a nested composite filter. Their interceptors are
// closed after the last body of an update.
func TestClientLifetimesInComposite(t *testing.T) {
	w := newWorld(t)
	var f clientFilter
	w.env = w.plane.Env(xdsforge.WithTypes(httpxds.Register, func(r xdsforge.Registrar) { r.Extend(f.filter()) }))
	w.cluster("c", "", serve(t, named("a")))
	listen := func(text string) {
		t.Helper()
		own := executed("own", fmt.Sprintf(`[type.googleapis.com/google.protobuf.StringValue] { value: %q }`, text))
		nested := executed("inner", extended(choosing(":method", choice{"GET", own})))
		w.filtered(composite(choosing(":method", choice{"GET", nested})), `virtual_hosts { name: "h" domains: "svc" %s }`, to("c"))
	}
	listen("one")
	rt := w.transport()
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc/", http.NoBody)
	check(t, err)
	held, err := rt.RoundTrip(r)
	check(t, err)
	if got := held.Header.Get("X-Filter"); got != "one c" {
		t.Errorf("the filter has set %q; want one c", got)
	}
	listen("two")
	until(t, func() (bool, string) {
		got, _ := headerOf(t, rt, "http://svc/", "X-Filter")
		return got == "two c", got
	})
	if n := [...]int64{f.instances.Load(), f.interceptors.Load(), f.closed.Load()}; n != [...]int64{1, 2, 0} {
		t.Errorf("instances, interceptors and closed interceptors are %d; want 1, 2, 0 while a body of the first update is open", n)
	}
	check(t, held.Body.Close())
	if n := f.closed.Load(); n != 1 {
		t.Errorf("%d interceptors are closed after the last body of the first update; want 1", n)
	}
	check(t, rt.Close())
	if n := [...]int64{f.instances.Load(), f.ended.Load(), f.interceptors.Load(), f.closed.Load()}; n != [...]int64{1, 1, 2, 2} {
		t.Errorf("instances, ended ones, interceptors and closed ones are %d after Close; want 1, 1, 2, 2", n)
	}
}

// The instances of the filters of actions survive updates. Their interceptors are closed after the last request of an update. A
// filter that cannot run makes the requests of its action fail.
func TestLifetimesInComposite(t *testing.T) {
	h, started, release := holding()
	defer release()
	var f recordedFilter
	s := newSite(t, h, "", func(r xdsforge.Registrar) { r.Extend(f.filter()) })
	listen := func(text string) {
		t.Helper()
		own := fmt.Sprintf(`[type.googleapis.com/google.protobuf.StringValue] { value: %q }`, text)
		s.listen(chain("web", hosts(onRoute("/"+text, "")+onRoute("/", ""))+composite(choosing("x-team", choice{"one", executed("own", own)}, choice{"two", skipped}))))
	}
	team := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Team", name) }
	}
	listen("one")
	s.serving("")
	result := make(chan error, 1)
	c := http1.client(t)
	go func() {
		_, err := s.do(c, http.MethodGet, "/held", team("one"))
		result <- err
	}()
	<-started
	listen("two")
	s.until("the second configuration serves", func() bool { return s.get("/", team("one")).header.Get("X-Filter") == "two" })
	if f.instances.Load() != 1 || f.interceptors.Load() != 2 || f.closed.Load() != 0 {
		t.Errorf("%d instances, %d interceptors, %d of them closed; want 1, 2 and 0 while a request of the first update runs", f.instances.Load(), f.interceptors.Load(), f.closed.Load())
	}
	release()
	check(t, <-result)
	s.until("the first interceptor is closed", func() bool {
		c.CloseIdleConnections() // the connection becomes idle after its response
		return f.closed.Load() == 1
	})
	listen("bad")
	s.until("requests fail because their filter cannot run", func() bool { return s.get("/", team("one")).code == http.StatusServiceUnavailable })
	if a := s.get("/", team("two")); a.code != http.StatusOK {
		t.Errorf("a request of another action gets %d", a.code)
	}
	check(t, s.Close())
	if f.ended.Load() != f.instances.Load() || f.closed.Load() != 2 {
		t.Errorf("%d of %d instances ended, %d interceptors closed; want all, and 2", f.ended.Load(), f.instances.Load(), f.closed.Load())
	}
}

// An attributed is a matcher of attributes: "team=a" in the metadata of the cluster, or the IP address of the client.
type attributed string

func (a attributed) Match(c *matchtree.Call) bool {
	key, value, _ := strings.Cut(string(a), "=")
	if fields, there := c.Attributes.ClusterMetadata(key); there {
		return fields["name"] == value
	}
	peer, _ := c.Attributes.Peer()
	addr, ok := peer.(*net.TCPAddr)
	return ok && addr.IP.String() == string(a)
}

// attributes registers the matcher.
func attributes(r xdsforge.Registrar) {
	r.Extend(&resource.InputMatcher{
		Message: "xds.type.matcher.v3.CelMatcher", Input: "xds.type.matcher.v3.HttpAttributesCelMatchInput",
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(matcherv3.CelMatcher)
			err := c.Unmarshal(m)
			return attributed(m.GetDescription()), err
		},
	})
}

// having returns a matcher that chooses by an attribute.
func having(attribute, action string) string {
	return fmt.Sprintf(`xds_matcher { matcher_list { matchers { predicate { single_predicate {
		input { name: "i" typed_config { [type.googleapis.com/xds.type.matcher.v3.HttpAttributesCelMatchInput] {} } }
		custom_match { name: "c" typed_config { [type.googleapis.com/xds.type.matcher.v3.CelMatcher] { description: %q } } } } }
		on_match { action { name: "a" typed_config { %s } } } } } }`, attribute, action)
}

// Matchers of clients see the metadata of the request's cluster, and no peer. A request without a cluster has no metadata.
func TestClusterMetadataInComposite(t *testing.T) {
	w := newWorld(t)
	w.env = w.plane.Env(xdsforge.WithTypes(httpxds.Register, attributes))
	addr := serve(t, named("a"))
	w.cluster("c", `metadata { filter_metadata { key: "team" value { fields { key: "name" value { string_value: "one" } } } } }`, addr)
	w.cluster("d", "", addr)
	change := executed("m", inner("header_mutation.v3.HeaderMutation", adding("1")))
	w.filtered(composite(having("team=one", change)), `virtual_hosts { name: "h" domains: "svc"
		routes { match { path: "/own" } direct_response { status: 200 } }
		routes { match { path: "/peer" } route { cluster: "c" } %s }
		routes { match { path: "/d" } route { cluster: "d" } }
		%s }`, ownMatcher(having("127.0.0.1", change)), to("c"))
	rt := w.transport()
	for path, want := range map[string]string{"/": "1", "/d": "", "/own": "", "/peer": ""} {
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc"+path, http.NoBody)
		check(t, err)
		resp, err := rt.RoundTrip(r)
		check(t, err)
		_ = resp.Body.Close()
		if got := resp.Header.Get("X-A"); got != want {
			t.Errorf("%s: %q; want %q", path, got, want)
		}
	}
}

// Matchers of servers see the address of the client.
func TestPeerInComposite(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", attributes)
	deny := executed("l", inner("fault.v3.HTTPFault", ""))
	change := executed("m", inner("header_mutation.v3.HeaderMutation", adding("1")))
	s.listen(chain("one", hosts(onRoute("/other", ownMatcher(having("127.0.0.2", deny)))+onRoute("/", ""))+composite(having("127.0.0.1", change))))
	s.serving("")
	for path, want := range map[string]string{"/": "200 1", "/other": "200 "} {
		a := s.get(path)
		if got := fmt.Sprint(a.code, " ", a.header.Get("X-A")); got != want {
			t.Errorf("%s: %s; want %s", path, got, want)
		}
	}
}

// Two rate limits of an action with one name have tokens of their own, and so have those of two actions.
func TestEqualNamesInComposite(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	limit := inner("local_ratelimit.v3.LocalRateLimit", `stat_prefix: "l" token_bucket { max_tokens: 1 fill_interval { seconds: 86400 } }
		filter_enabled { default_value { numerator: 100 } } filter_enforced { default_value { numerator: 100 } }`)
	s.listen(chain("web", hosts(onRoute("/", ""))+composite(choosing("x-team", choice{"a", executed("l", limit, "l", limit)}, choice{"b", executed("l", limit)}))))
	s.serving("")
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests, http.StatusOK, http.StatusTooManyRequests} {
		team := "aabb"[i : i+1]
		if got := s.get("/", func(r *http.Request) { r.Header.Set("X-Team", team) }).code; got != want {
			t.Errorf("the request %d, of the team %s, gets %d; want %d", i, team, got, want)
		}
	}
}

// The tokens of a rate limit in an action survive updates. An override has its own, even if its action has the same place.
func TestRateLimitInComposite(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	const one = `stat_prefix: "l" token_bucket { max_tokens: 1 fill_interval { seconds: 86400 } }
		filter_enabled { default_value { numerator: 100 } } filter_enforced { default_value { numerator: 100 } }`
	matcher := choosing("x-team", choice{"a", executed("l", inner("local_ratelimit.v3.LocalRateLimit", one))})
	listen := func(name string) {
		t.Helper()
		s.listen(chain("web", hosts(`routes { name: "own" match { prefix: "/own" } non_forwarding_action {} `+ownMatcher(matcher)+` }
			routes { match { prefix: "/`+name+`" } direct_response { status: 418 } `+ownMatcher("")+` }`+onRoute("/", ""))+composite(matcher)))
	}
	get := func(path string) int {
		return s.get(path, func(r *http.Request) { r.Header.Set("X-Team", "a") }).code
	}
	listen("one")
	s.serving("")
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		for _, path := range []string{"/", "/own"} {
			if got := get(path); got != want {
				t.Errorf("%s gets %d; want %d", path, got, want)
			}
		}
	}
	listen("two")
	s.until("the second Listener serves", func() bool { return get("/two") == http.StatusTeapot })
	for _, path := range []string{"/", "/own"} {
		if got := get(path); got != http.StatusTooManyRequests {
			t.Errorf("%s gets %d after an update; want no new tokens", path, got)
		}
	}
}
