package httpxds_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// mirror responds with the request as the endpoint sees it.
func mirror(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "echo")
	_, _ = fmt.Fprintf(w, "%s %s%s", r.Method, r.Host, r.RequestURI)
	for _, name := range []string{"X-A", "X-B", "X-Envoy-Original-Path"} {
		for _, v := range r.Header.Values(name) {
			_, _ = fmt.Fprintf(w, " %s=%s", name, v)
		}
	}
}

// TestRewrites expects the endpoint to see the request with the changes of its route, and the program to see the response
// with them. The program's own request does not change.
func TestRewrites(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, mirror))
	w.hosts(`request_headers_to_add { header { key: "x-b" value: "global" } } virtual_hosts { name: "h" domains: "svc"
		routes { match { prefix: "/p/" } route { cluster: "c" prefix_rewrite: "/q/" } }
		routes { match { path: "/exact" } route { cluster: "c" prefix_rewrite: "/whole" } }
		routes { match { safe_regex { regex: "/r/.*" } } route { cluster: "c" regex_rewrite { pattern { regex: "/r/([0-9]+)" } substitution: "/n/\\1" } } }
		routes { match { prefix: "/host" } route { cluster: "c" host_rewrite_literal: "other" } }
		routes { match { prefix: "/byheader" } route { cluster: "c" host_rewrite_header: "x-a" } }
		routes { match { prefix: "/bypath/" } route { cluster: "c" host_rewrite_path_regex { pattern { regex: "^/bypath/(.+)$" } substitution: "\\1.example" } } }
		routes { match { prefix: "/add" } route { cluster: "c" }
			request_headers_to_add { header { key: "x-a" value: "v-%%REQ(x-a)%%" } append_action: OVERWRITE_IF_EXISTS_OR_ADD }
			response_headers_to_add { header { key: "x-response" value: "1" } } response_headers_to_remove: "server" }
		routes { match { prefix: "/weighted" } route { weighted_clusters { clusters { name: "c" weight { value: 1 }
			request_headers_to_remove: "x-a" response_headers_to_add { header { key: "x-response" value: "2" } } } } } }
		routes { match { prefix: "/b" query_parameters { name: "v" string_match { exact: "2" } } } route { cluster: "c" host_rewrite_literal: "second" } }
		routes { match { prefix: "" } route { cluster: "c" } } }`)
	rt := w.transport()
	for path, want := range map[string]string{
		"/p/x?y=1":    "GET svc/q/x?y=1 X-A=1 X-B=global X-Envoy-Original-Path=/p/x?y=1",
		"/exact":      "GET svc/whole X-A=1 X-B=global X-Envoy-Original-Path=/exact",
		"/r/12/a":     "GET svc/n/12/a X-A=1 X-B=global X-Envoy-Original-Path=/r/12/a",
		"/host":       "GET other/host X-A=1 X-B=global",
		"/byheader":   "GET 1/byheader X-A=1 X-B=global",
		"/bypath/abc": "GET abc.example/bypath/abc X-A=1 X-B=global",
		"/add":        "GET svc/add X-A=v-1 X-B=global",
		"/weighted":   "GET svc/weighted X-B=global",
		"/b?v=2&v=3":  "GET second/b?v=2&v=3 X-A=1 X-B=global",
		"/b?v=1":      "GET svc/b?v=1 X-A=1 X-B=global",
		"/p/%2f":      "GET svc/q/%2f X-A=1 X-B=global X-Envoy-Original-Path=/p/%2f",
	} {
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-A", "1")
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != want || err != nil {
			t.Errorf("%s: the endpoint sees\n%s, %v, want\n%s", path, body, err, want)
		}
		if resp.Request != r || len(r.Header) != 1 || r.URL.RequestURI() != path {
			t.Errorf("%s: the program's request has changed: %v %v", path, r.URL, r.Header)
		}
		added := map[string]string{"/add": "1", "/weighted": "2"}[path]
		if got := resp.Header.Get("X-Response"); got != added || (resp.Header.Get("Server") == "") != (path == "/add") {
			t.Errorf("%s: the response has the headers %v", path, resp.Header)
		}
	}
}

// TestHostHeader expects matchers of the header "host" to read the authority, and the target of a host in upper case to be that in
// lower case.
func TestHostHeader(t *testing.T) {
	w := newWorld(t)
	w.routes(`routes { match { prefix: "/" headers { name: "Host" string_match { exact: "SVC:80" } } } direct_response { status: 200 body { inline_string: "by host" } } }
		routes { match { prefix: "/" } direct_response { status: 200 body { inline_string: "other" } } }`)
	h, err := httpxds.NewHosts(httpxds.WithEnv(w.env))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for url, want := range map[string]string{"http://SVC:80/": "by host", "http://svc/": "other"} {
		if body, err := get(t, h, url); !strings.HasPrefix(body, want) || err != nil {
			t.Errorf("%s: %q, %v; want %q", url, body, err, want)
		}
	}
}

// TestLocalResponses expects redirects and direct responses without an endpoint.
func TestLocalResponses(t *testing.T) {
	w := newWorld(t)
	w.routes(`
		routes { match { prefix: "/d" } direct_response { status: 418 body { inline_string: "short" } } response_headers_to_add { header { key: "x-response" value: "1" } } }
		routes { match { prefix: "/https" } redirect { https_redirect: true } }
		routes { match { prefix: "/host" } redirect { host_redirect: "h" port_redirect: 81 response_code: TEMPORARY_REDIRECT strip_query: true } }
		routes { match { prefix: "/path" } redirect { path_redirect: "/other?q=2" response_code: SEE_OTHER } }
		routes { match { prefix: "/pre/" } redirect { prefix_rewrite: "/x/" response_code: PERMANENT_REDIRECT } }`)
	rt := w.transport()
	for path, want := range map[string]string{
		"/d":       "418 short",
		"/https/a": "301 https://svc/https/a",
		"/host?q":  "307 http://h:81/host",
		"/path?q":  "303 http://svc:80/other?q=2",
		"/pre/a?q": "308 http://svc:80/x/a?q",
	} {
		r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc:80"+path, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		got := fmt.Sprint(resp.StatusCode, " ", string(body), resp.Header.Get("Location"))
		if got != want || err != nil || resp.Request != r || resp.ContentLength != int64(len(body)) {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
		if path == "/d" && resp.Header.Get("X-Response") != "1" {
			t.Errorf("%s: the response has the headers %v", path, resp.Header)
		}
	}
}

// TestGatewayResponses expects the statuses of a proxy instead of errors.
func TestGatewayResponses(t *testing.T) {
	w := newWorld(t)
	w.cluster("empty", "")
	w.cluster("silent", "", serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	w.cluster("broken", "", serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	w.routes(`
		routes { match { prefix: "/empty" } route { cluster: "empty" } }
		routes { match { prefix: "/silent" } route { cluster: "silent" timeout { nanos: 50000000 } } }
		routes { match { prefix: "/broken" } route { cluster: "broken" } }`)
	rt := w.transport(httpxds.WithGatewayResponses())
	for path, want := range map[string]int{"/empty": 503, "/silent": 504, "/broken": 502, "/x": 404} {
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://svc"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
	}
}
