package statuspage_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge/statuspage"
	"github.com/xdsforge/xdsforge/statuspage/internal/scene"
)

var views = []string{"", "client", "resources", "resource", "servers", "events", "route", "style.css", "nothing"}

// Any query, path, host and Accept header has an answer. A page has no foreign element, JSON is valid, and
// nothing is an error of the handler.
func FuzzRequest(f *testing.F) {
	for i, query := range []string{
		"", "page=2&q=x", "client=1.1.x", "client=1.1.&type=envoy.config.cluster.v3.Cluster&name=a", "page=-1", "page=99999999999999999999", "%zz", "a;b",
		"client=1.1.a&method=/a/b&header=x:y%0az:%201", "method=/&header=:", "q=%ff", "q=%3Cscript%3E", "kind=LOST", "state=ACKED&client=" + url.QueryEscape(scene.Script),
	} {
		f.Add(uint8(i), query, asHTML, "127.0.0.1")
		f.Add(uint8(i), query, asJSON, "localhost:1")
	}
	f.Add(uint8(0), "", "application/json;q=2, text/html;q=x", "[::1")
	env := emptyEnv(f)
	c, err := env.NewNamedClient("a")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close() })
	h := statuspage.Handler(env)
	f.Fuzz(func(t *testing.T, view uint8, query, accept, host string) {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", http.NoBody)
		r.URL.Path, r.URL.RawQuery, r.Host = "/"+views[int(view)%len(views)], query, host
		r.Header.Set("Accept", accept)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if !slices.Contains([]int{200, 400, 404, 414, 421}, rec.Code) {
			t.Fatalf("status %d: %s", rec.Code, rec.Body)
		}
		switch rec.Header().Get("Content-Type") {
		case "text/html; charset=utf-8":
			if found := intrusions(t, rec.Body.String()); len(found) > 0 {
				t.Errorf("the page has %q", found)
			}
		case "application/json":
			if !json.Valid(rec.Body.Bytes()) {
				t.Errorf("the JSON is invalid: %s", rec.Body)
			}
		}
	})
}

// FuzzRoute gives the route tester any call.
func FuzzRoute(f *testing.F) {
	s, err := scene.Start(f.Context(), 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	h := statuspage.Handler(s.Env)
	f.Add("/a/b", "x-version: canary")
	f.Add("/shop.Checkout/Export", "a:b\n\nc : d\r\ne-bin:AAA=")
	f.Add("/\x00\xff", "x:\x00")
	f.Fuzz(func(t *testing.T, method, header string) {
		rec := get(h, asHTML, "route", "client", checkout, "method", method, "header", header)
		if rec.Code != http.StatusOK && rec.Code != http.StatusBadRequest && rec.Code != http.StatusRequestURITooLong {
			t.Fatalf("status %d: %s", rec.Code, rec.Body)
		}
		if found := intrusions(t, rec.Body.String()); len(found) > 0 {
			t.Errorf("the page has %q", found)
		}
	})
}
