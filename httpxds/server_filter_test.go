package httpxds_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"            // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"            // for prototext
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
)

// filter returns an entry of a list of filters. The message is that of a package below envoy.extensions.filters.http.
func filter(message, config string) string {
	name, _, _ := strings.Cut(message, ".")
	return fmt.Sprintf(` http_filters { name: %q typed_config { [type.googleapis.com/envoy.extensions.filters.http.%s] { %s } } }`, name, message, config)
}

// override returns the override of a filter for a route or a virtual host.
func override(message, config string) string {
	name, _, _ := strings.Cut(message, ".")
	return fmt.Sprintf(` typed_per_filter_config { key: %q value { [type.googleapis.com/envoy.extensions.filters.http.%s] { %s } } }`, name, message, config)
}

// onRoute returns a route for a prefix, with its overrides.
func onRoute(prefix, overrides string) string {
	return fmt.Sprintf(` routes { match { prefix: %q } non_forwarding_action {} %s }`, prefix, overrides)
}

// RBAC rules match the method, the path and the headers of requests. A path in another form does not pass the rules of
// its final form (pitfall 8).
func TestRBAC(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	const rules = `rules { action: DENY policies { key: "p" value { principals { any: true }
		permissions { url_path { path { prefix: "/admin" } } }
		permissions { header { name: ":method" string_match { exact: "DELETE" } } }
		permissions { header { name: "x-user-bin" string_match { exact: "eve" } } } } } }`
	s.listen(chain("one", hosts(onRoute("/open", override("rbac.v3.RBACPerRoute", ""))+onRoute("/", ""))+filter("rbac.v3.RBAC", rules)))
	s.serving("")
	user := func(r *http.Request) { r.Header.Set("X-User-Bin", "eve") }
	opaque := func(path string) func(*http.Request) {
		return func(r *http.Request) { r.URL.Opaque = "//" + s.addr + path }
	}
	for _, tt := range []struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		{"GET", "/", nil, 200},
		{"GET", "/admin/x", nil, 403},
		{"GET", "/", opaque("/%61dmin"), 403},
		{"GET", "/", opaque("//admin"), 403},
		{"GET", "/", opaque("/public/../admin"), 403},
		{"GET", "/", opaque("/public%2f..%2fadmin"), 400},
		{"DELETE", "/", nil, 403},
		{"GET", "/", user, 403},
		{"DELETE", "/open", user, 200}, // the route's override has no rules
	} {
		if tt.change == nil {
			tt.change = func(*http.Request) {}
		}
		a, err := s.do(http1.client(t), tt.method, tt.path, tt.change)
		if err != nil || a.code != tt.want {
			t.Errorf("%s %s = %d, %v; want %d", tt.method, tt.path, a.code, err, tt.want)
		}
	}
}

// Requests without a virtual host or a route pass the filters with the configuration of the list, and then get 404.
func TestFiltersOfUnmatchedRequests(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	const rules = `rules { action: DENY policies { key: "p" value { principals { any: true } permissions { url_path { path { prefix: "/admin" } } } } } }`
	s.listen(chain("one", `route_config { name: "r" virtual_hosts { name: "v" domains: "known" `+onRoute("/open", "")+override("rbac.v3.RBACPerRoute", "")+` } }`+filter("rbac.v3.RBAC", rules)))
	s.serving("")
	for _, host := range []string{"known", "other"} {
		for path, want := range map[string]int{"/admin": 403, "/x": 404} {
			if a := s.get(path, func(r *http.Request) { r.Host = host }); a.code != want {
				t.Errorf("%s%s = %d; want %d", host, path, a.code, want)
			}
		}
	}
}

// The tokens of a rate limit survive updates of the Listener and of the routes. Each route with an override has its own.
func TestRateLimit(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	limit := func(tokens int, more string) string {
		return fmt.Sprintf(`stat_prefix: "l" token_bucket { max_tokens: %d fill_interval { seconds: 86400 } } %s
			filter_enabled { default_value { numerator: 100 } } filter_enforced { default_value { numerator: 100 } }`, tokens, more)
	}
	const message = "local_ratelimit.v3.LocalRateLimit"
	listen := func(name, more string) {
		t.Helper()
		s.listen(chain("web", hosts(onRoute("/own", override(message, limit(1, "")))+onRoute("/"+name, "")+onRoute("/", ""))+filter(message, limit(3, more))))
	}
	codes := func(path string, n int) (out []int) {
		t.Helper()
		for range n {
			out = append(out, s.get(path).code)
		}
		return out
	}
	listen("one", "")
	s.serving("")
	if got := codes("/", 2); !slices.Equal(got, []int{200, 200}) {
		t.Errorf("the first requests get %v", got)
	}
	if got := codes("/own", 2); !slices.Equal(got, []int{200, 429}) {
		t.Errorf("the requests of a route with a limit of 1 get %v", got)
	}
	listen("two", `enable_retry_after_header: true status { code: ServiceUnavailable } response_headers_to_add { header { key: "x-limited" value: "100%%" } }`)
	var a answer
	s.until("the third token is spent under the second Listener", func() bool {
		a = s.get("/")
		return a.code != http.StatusOK && a.header.Get("X-Limited") != ""
	})
	if a.code != http.StatusServiceUnavailable || a.header.Get("X-Limited") != "100%" || a.header.Get("Retry-After") == "" {
		t.Errorf("a limited request gets %d %v", a.code, a.header)
	}
	if got := codes("/own", 1); got[0] != http.StatusTooManyRequests {
		t.Errorf("the route's own tokens are back after an update: %v", got)
	}
}

// Preflight requests of allowed origins are answered. Other responses name the origin.
func TestCORS(t *testing.T) {
	s := newSite(t, http.HandlerFunc(echo), "", nil)
	const policy = `allow_origin_string_match { suffix: ".example" } allow_methods: "GET" allow_headers: "x-a" expose_headers: "x-b" max_age: "60" allow_credentials { value: true }`
	s.listen(chain("one", hosts(onRoute("/none", "")+onRoute("/strict", override("cors.v3.CorsPolicy", policy+` forward_not_matching_preflights {}`))+
		onRoute("/", override("cors.v3.CorsPolicy", policy)))+filter("cors.v3.Cors", "")))
	s.serving("")
	for _, tt := range []struct {
		name, method, path, origin string
		preflight                  bool
		body, allowed, methods     string
	}{
		{"preflight", "OPTIONS", "/", "https://a.example", true, "", "https://a.example", "GET"},
		{"preflight of another origin", "OPTIONS", "/", "https://a.test", true, "/ ", "", ""},
		{"answered preflight of another origin", "OPTIONS", "/strict", "https://a.test", true, "", "", ""},
		{"OPTIONS", "OPTIONS", "/", "https://a.example", false, "/ ", "https://a.example", ""},
		{"request", "GET", "/", "https://a.example", false, "/ ", "https://a.example", ""},
		{"request of another origin", "GET", "/", "https://a.test", false, "/ ", "", ""},
		{"request without an origin", "GET", "/", "", false, "/ ", "", ""},
		{"route without a policy", "GET", "/none", "https://a.example", false, "/none ", "", ""},
	} {
		a, err := s.do(http1.client(t), tt.method, tt.path, func(r *http.Request) {
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if tt.preflight {
				r.Header.Set("Access-Control-Request-Method", "GET")
			}
		})
		if err != nil || a.code != http.StatusOK || a.body != tt.body || a.header.Get("Access-Control-Allow-Origin") != tt.allowed || a.header.Get("Access-Control-Allow-Methods") != tt.methods {
			t.Errorf("%s: %d %q %v, %v", tt.name, a.code, a.body, a.header, err)
		}
		if exposed := a.header.Get("Access-Control-Expose-Headers") != ""; exposed != (tt.allowed != "" && tt.methods == "") {
			t.Errorf("%s: exposes headers: %t", tt.name, exposed)
		}
	}
}

// Header mutations apply before the handler and when the response is sent, whatever the handler sets.
func TestHeaderMutation(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Server", "handler")
		w.Header().Set("X-Secret", "s")
		switch r.URL.Path {
		case "/flush":
			w.(http.Flusher).Flush()
			w.Header().Set("X-Late", "l")
		case "/copy":
			_, _ = io.Copy(w, strings.NewReader("copied"))
		case "/empty":
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("X-Added")+r.Header.Get("X-Removed"))
	})
	s := newSite(t, h, "", nil)
	const changes = `mutations { request_mutations { append { header { key: "x-added" value: "yes" } } } request_mutations { remove: "x-removed" }
		response_mutations { append { header { key: "x-server" value: "xds" } append_action: OVERWRITE_IF_EXISTS_OR_ADD } } response_mutations { remove: "x-secret" } }`
	const more = `mutations { response_mutations { append { header { key: "x-route" value: "r" } append_action: ADD_IF_ABSENT } } }`
	s.listen(chain("one", hosts(onRoute("/", override("header_mutation.v3.HeaderMutationPerRoute", more)))+filter("header_mutation.v3.HeaderMutation", changes)))
	s.serving("")
	for path, body := range map[string]string{"/": "yes", "/flush": "yes", "/copy": "copiedyes", "/empty": ""} {
		for _, p := range []protocol{http1, h2c} {
			a, err := s.do(p.client(t), http.MethodGet, path, func(r *http.Request) { r.Header.Set("X-Removed", "no") })
			got := fmt.Sprint(a.body, a.header["X-Server"], a.header["X-Secret"], a.header["X-Route"], a.header["X-Late"])
			if want := body + "[xds] [] [r] []"; err != nil || got != want {
				t.Errorf("%s by %s: %s, %v; want %s", path, p, got, err, want)
			}
		}
	}
}

// recordedFilter records the lifetimes of its instances and interceptors.
type recordedFilter struct{ instances, interceptors, closed, ended atomic.Int64 }

func (f *recordedFilter) filter() *httpfilter.Filter {
	parse := func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
		m := new(wrapperspb.StringValue)
		return m, c.Unmarshal(m)
	}
	return &httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{Config: "google.protobuf.StringValue", Override: "google.protobuf.StringValue", Sides: resource.ServerSide, Parse: parse, ParseOverride: parse},
		NewServer: func(httpfilter.Host) (httpfilter.ServerInstance, error) {
			f.instances.Add(1)
			return f, nil
		},
	}
}

// Close implements [httpfilter.ServerInstance].
func (f *recordedFilter) Close() { f.ended.Add(1) }

// Interceptor implements [httpfilter.ServerInstance].
func (f *recordedFilter) Interceptor(u httpfilter.Use) (httpfilter.ServerInterceptor, error) {
	text := u.Config.(*wrapperspb.StringValue).GetValue()
	if text == "bad" {
		return nil, errors.New("bad")
	}
	f.interceptors.Add(1)
	return recordedInterceptor{f, text}, nil
}

type recordedInterceptor struct {
	*recordedFilter
	text string
}

// Close implements [io.Closer].
func (i recordedInterceptor) Close() error {
	i.closed.Add(1)
	return nil
}

// Wrap implements [httpfilter.ServerInterceptor].
func (i recordedInterceptor) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Filter", i.text)
		next.ServeHTTP(w, r)
	})
}

// An instance survives updates. The interceptors of an update are closed after its last request. A filter that cannot
// run makes requests fail.
func TestLifetimesOfFilters(t *testing.T) {
	h, started, release := holding()
	defer release()
	var f recordedFilter
	s := newSite(t, h, "", func(r xdsforge.Registrar) { r.Extend(f.filter()) })
	listen := func(text string) {
		t.Helper()
		s.listen(chain("web", `rds { route_config_name: "r" config_source { ads {} } } `+
			fmt.Sprintf(`http_filters { name: "own" typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: %q } } }`, text)))
	}
	listen("one")
	s.routes(`virtual_hosts { name: "v" domains: "*" ` + anyRoute + anyRoute + ` }`)
	s.serving("")
	result := make(chan error, 1)
	c := http1.client(t)
	go func() {
		_, err := s.do(c, http.MethodGet, "/held")
		result <- err
	}()
	<-started
	listen("two")
	s.until("the second configuration serves", func() bool { return s.get("/").header.Get("X-Filter") == "two" })
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
	s.until("requests fail because a filter cannot run", func() bool { return s.get("/").code == http.StatusServiceUnavailable })
	check(t, s.Close())
	if f.ended.Load() != f.instances.Load() || f.closed.Load() != 2 {
		t.Errorf("%d of %d instances ended, %d interceptors closed; want all, and 2", f.ended.Load(), f.instances.Load(), f.closed.Load())
	}
}
