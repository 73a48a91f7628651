package statuspage_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/statuspage"
)

// emptyEnv returns an environment without clients.
func emptyEnv(tb testing.TB) *xdsforge.Env {
	tb.Helper()
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		tb.Fatal(err)
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register), xdsforge.WithPrivateConnections())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = env.Close() })
	return env
}

// Browsers reach the handler only by names that another site cannot have.
func TestHosts(t *testing.T) {
	h := statuspage.Config{Hosts: []string{"status.example"}}.Handler(emptyEnv(t))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:80": 200, "10.1.2.3:8080": 200, "[::1]:80": 200, "[::1]": 200, "localhost": 200, "LOCALHOST:1": 200,
		"a.localhost": 200, "status.example": 200, "Status.Example.:9": 200, "localhost.": 200,
		"evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "xlocalhost": 421,
		"": 421, "status.example.evil": 421, "0x7f000001": 421,
	} {
		for _, path := range []string{"/", "/style.css", "/stream"} {
			r := httptest.NewRequest(http.MethodGet, "http://x"+path, http.NoBody)
			if path == "/stream" { // it ends with its request
				r = r.WithContext(ended)
			}
			r.Host = host
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			if rec.Code != want {
				t.Errorf("host %q, path %s: status %d; want %d", host, path, rec.Code, want)
			}
		}
	}
}

// The handler is read-only.
func TestMethods(t *testing.T) {
	h := statuspage.Handler(emptyEnv(t))
	for method, want := range map[string]int{
		http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodPut: 405, http.MethodDelete: 405, http.MethodOptions: 405, "X": 405,
	} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(method, "http://127.0.0.1/", http.NoBody))
		if rec.Code != want || want == http.StatusMethodNotAllowed && rec.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("method %s: status %d, Allow %q; want %d", method, rec.Code, rec.Header().Get("Allow"), want)
		}
	}
}

// Every answer has the headers that protect browsers, and none for other origins.
func TestHeaders(t *testing.T) {
	h := statuspage.Handler(emptyEnv(t))
	for _, path := range []string{"", "resources", "nothing", "style.css", "script.js", "icon.svg", "route?method=x"} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/"+path, http.NoBody)
		r.Header.Set("Origin", "http://evil.example")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		csp := rec.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") {
			t.Errorf("%q: Content-Security-Policy = %q", path, csp)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Resource-Policy": "same-origin", "Vary": "Accept", "Access-Control-Allow-Origin": "",
		} {
			if got := rec.Header().Get(name); got != want {
				t.Errorf("%q: %s = %q; want %q", path, name, got, want)
			}
		}
		if rec.Header().Get("Content-Type") == "" {
			t.Errorf("%q has no Content-Type", path)
		}
	}
}

// The page has no inline script, style or handler, and loads nothing from elsewhere.
func TestAssets(t *testing.T) {
	h := statuspage.Handler(emptyEnv(t))
	text := get(h, asHTML, "").Body.String()
	for _, part := range []string{"<style", " style=", " onclick", " onload", "javascript:", "http://", "https://", "<script>"} {
		at := strings.Index(text, part)
		if at >= 0 && !strings.HasPrefix(text[at:], "http://127.0.0.1/debug/xds/") {
			t.Errorf("the page has %q: %.100q", part, text[at:])
		}
	}
	for name, want := range map[string]string{"style.css": "prefers-color-scheme: dark", "script.js": "EventSource", "icon.svg": "<svg"} {
		if rec := get(h, "*/*", name); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), want) || strings.Contains(rec.Body.String(), "@import") {
			t.Errorf("%s: status %d", name, rec.Code)
		}
	}
}
