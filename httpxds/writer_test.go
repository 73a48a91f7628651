package httpxds_test

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// optional are the optional interfaces of the writers of net/http.
var optional = map[string]reflect.Type{
	"CloseNotifier": reflect.TypeFor[http.CloseNotifier](), //nolint:staticcheck // handlers still use it
	"Flusher":       reflect.TypeFor[http.Flusher](), "Hijacker": reflect.TypeFor[http.Hijacker](),
	"Pusher": reflect.TypeFor[http.Pusher](), "ReaderFrom": reflect.TypeFor[io.ReaderFrom](), "StringWriter": reflect.TypeFor[io.StringWriter](),
	"FlushError":       reflect.TypeFor[interface{ FlushError() error }](),
	"SetReadDeadline":  reflect.TypeFor[interface{ SetReadDeadline(time.Time) error }](),
	"SetWriteDeadline": reflect.TypeFor[interface{ SetWriteDeadline(time.Time) error }](),
	"EnableFullDuplex": reflect.TypeFor[interface{ EnableFullDuplex() error }](),
}

// abilities responds with the optional interfaces of its writer, and with the errors of its controller.
func abilities(w http.ResponseWriter, _ *http.Request) {
	var list []string
	for name, t := range optional {
		if reflect.TypeOf(w).Implements(t) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	c := http.NewResponseController(w)
	later := time.Now().Add(time.Minute)
	_, _ = fmt.Fprint(w, list, c.EnableFullDuplex(), c.SetReadDeadline(later), c.SetWriteDeadline(later), c.Flush())
	if n, ok := w.(http.CloseNotifier); ok { //nolint:staticcheck // gin uses it
		_, _ = fmt.Fprint(w, n.CloseNotify() != nil)
	}
}

// TestWriterKeepsInterfaces expects a handler to have each optional interface of the writer of net/http, whatever the
// configuration is: for own and for forwarded requests, with and without bodies, with each filter and with header changes.
func TestWriterKeepsInterfaces(t *testing.T) {
	s := newSite(t, http.HandlerFunc(abilities), "", nil, httpxds.WithForwarding(http.HandlerFunc(abilities)))
	parts := []struct{ filter, route string }{
		{filter("header_mutation.v3.HeaderMutation", adding("1")), ""},
		{filter("cors.v3.Cors", ""), override("cors.v3.CorsPolicy", `allow_origin_string_match { exact: "https://a.example" }`)},
		{filter("local_ratelimit.v3.LocalRateLimit", `stat_prefix: "s" token_bucket { max_tokens: 100000 fill_interval { seconds: 1 } }
			filter_enabled { default_value { numerator: 100 } } filter_enforced { default_value { numerator: 100 } }`), ""},
		{filter("rbac.v3.RBAC", ""), ""},
		{"", ` response_headers_to_add { header { key: "x-b" value: "1" } }`},
		{"", ` request_headers_to_add { header { key: "x-c" value: "1" } }`},
	}
	for set := range 1 << len(parts) {
		var filters, onRoute strings.Builder
		for i, p := range parts {
			if set>>i&1 == 1 {
				filters.WriteString(p.filter)
				onRoute.WriteString(p.route)
			}
		}
		name := fmt.Sprint("set ", set)
		s.listen(chain(name, hosts(`routes { match { prefix: "/own" } non_forwarding_action {} `+onRoute.String()+` }
			routes { match { prefix: "/" } route { cluster: "c" } `+onRoute.String()+` }`)+filters.String()))
		if set == 0 {
			s.serving("")
		}
		s.until("the server has the configuration", func() bool { return s.newest() == name })
		for p, want := range map[protocol]string{http1: abilitiesOfHTTP1, h2c: abilitiesOfHTTP2} {
			for _, path := range []string{"/own", "/forwarded"} {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					a, err := s.do(p.client(t), method, path, func(r *http.Request) { r.Header.Set("Origin", "https://a.example"); r.Close = true })
					if err != nil || a.body != want {
						t.Fatalf("%s, %s %s %s: %q, %v; want %q", name, p, method, path, a.body, err, want)
					}
				}
			}
		}
	}
}

const (
	abilitiesOfHTTP1 = "[CloseNotifier EnableFullDuplex FlushError Flusher Hijacker ReaderFrom SetReadDeadline SetWriteDeadline StringWriter] <nil> <nil> <nil> <nil>true"
	abilitiesOfHTTP2 = "[CloseNotifier EnableFullDuplex FlushError Flusher Pusher SetReadDeadline SetWriteDeadline StringWriter] <nil> <nil> <nil> <nil>true"
)

// TestAbilitiesOfNetHTTP expects the lists of the test above to be those of net/http.
func TestAbilitiesOfNetHTTP(t *testing.T) {
	addr := serve(t, abilities)
	for p, want := range map[protocol]string{http1: abilitiesOfHTTP1, h2c: abilitiesOfHTTP2} {
		if body, err := get(t, p.client(t).Transport, "http://"+addr); body != want {
			t.Errorf("%s: %q, %v; want %q", p, body, err, want)
		}
	}
}

// TestCORSOfProxiedResponses expects the CORS headers of a proxied endpoint to be replaced by those of the policy.
func TestCORSOfProxiedResponses(t *testing.T) {
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Expose-Headers", "x-own")
		w.Header().Set("Vary", "Accept, Origin")
	})
	s := newSite(t, http.NotFoundHandler(), "", nil, httpxds.WithForwarding(proxyTo(single(t, serve(t, endpoint), ""))))
	s.listen(chain("one", hosts(`routes { match { prefix: "/" } route { cluster: "c" } `+
		override("cors.v3.CorsPolicy", `allow_origin_string_match { exact: "https://a.example" } allow_credentials { value: true } expose_headers: "x-policy"`)+` }`)+filter("cors.v3.Cors", "")))
	s.serving("")
	a := s.get("/", func(r *http.Request) { r.Header.Set("Origin", "https://a.example") })
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Allow-Credentials": "true", "Access-Control-Expose-Headers": "x-policy",
		"Vary": "Accept, Origin",
	} {
		if got := a.header[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s = %q; want %q", name, got, want)
		}
	}
}
