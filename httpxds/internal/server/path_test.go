package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Pitfall 8: routes match the form of the path that the handler serves.
func TestOneFormOfThePath(t *testing.T) {
	for _, tt := range []struct {
		target, want, kept string // the path; kept: with WithEscapedSlashes; empty: rejected
	}{
		{"/", "/", "/"},
		{"/admin", "/admin", "/admin"},
		{"/%61dmin", "/admin", "/admin"},
		{"//admin", "/admin", "/admin"},
		{"/./admin", "/admin", "/admin"},
		{"/public/../admin", "/admin", "/admin"},
		{"/public/%2e%2E/admin", "/admin", "/admin"},
		{"/../../admin/", "/admin/", "/admin/"},
		{"/admin/.", "/admin/", "/admin/"},
		{"/admin/x/..", "/admin/", "/admin/"},
		{"/..", "/", "/"},
		{"/.admin/..x/...", "/.admin/..x/...", "/.admin/..x/..."},
		{"/admin%2Fx", "", "/admin/x"},
		{"/public%2f..%2fadmin", "", "/admin"},
		{"/a%5Cb", "", "/a/b"},
		{`/a\..\admin`, "", "/admin"},
		{"/a%00b", "", ""},
		{"/a%0Ab", "", ""},
		{"/a%7fb", "", ""},
		{"/a%25b", "/a%b", "/a%b"},
		{"/a%3Fb?c=%2F..", "/a?b", "/a?b"},
		{"/ä%20b", "/ä b", "/ä b"},
		{"http://h", "/", "/"},
		{"a:b", "", ""},
	} {
		for i, want := range []string{tt.want, tt.kept} {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			u, err := url.ParseRequestURI(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			r.URL = u
			before := *u
			got, err := resolved(r, i == 1)
			if err != nil {
				if want != "" {
					t.Errorf("%s: %v; want the path %s", tt.target, err, want)
				}
				continue
			}
			if got.URL.Path != want || got.URL.RawPath != "" || got.URL.RawQuery != before.RawQuery {
				t.Errorf("%s: the path is %q, %q, the query %q; want %q and the same query", tt.target, got.URL.Path, got.URL.RawPath, got.URL.RawQuery, want)
			}
			if *u != before {
				t.Errorf("%s: the URL of the original request becomes %v", tt.target, u)
			}
			if again, err := resolved(got, false); err != nil || again != got {
				t.Errorf("%s: the form %s is not final: %v", tt.target, got.URL, err)
			}
		}
	}
}

// Requests without a path pass unchanged.
func TestRequestsWithoutPath(t *testing.T) {
	for method, u := range map[string]*url.URL{http.MethodConnect: {Host: "h:1"}, http.MethodOptions: {Path: "*"}} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Method, r.URL = method, u
		if got, err := resolved(r, false); err != nil || got != r {
			t.Errorf("%s: %v, %v; want the same request", method, got.URL, err)
		}
	}
}

// FuzzPath compares the form of the path with path.Clean, and expects that it stays the same when the handler parses it
// again.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/a/b", "/a//b/", "/%2e%2e/a", "/a%2fb", `/a\b`, "/a/./../..", "//h/a", "/%", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		r := &http.Request{Method: http.MethodGet, URL: u, RequestURI: target}
		got, err := resolved(r, true)
		if err != nil {
			return
		}
		want := path.Clean("/" + strings.ReplaceAll(u.Path, `\`, "/"))
		if trimmed := strings.TrimSuffix(got.URL.Path, "/"); trimmed != strings.TrimSuffix(want, "/") {
			t.Errorf("%q becomes %q; want %q", target, got.URL.Path, want)
		}
		again, err := url.ParseRequestURI(got.URL.RequestURI())
		if err != nil || again.Path != got.URL.Path {
			t.Errorf("%q becomes %q, which parses as %v, %v", target, got.URL.Path, again, err)
		}
		strict, err := resolved(r, false)
		if err == nil && strict.URL.Path != got.URL.Path {
			t.Errorf("%q becomes %q, and with escaped slashes %q", target, strict.URL.Path, got.URL.Path)
		}
	})
}

// The path of most requests does not allocate.
func TestPathWithoutAllocation(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/a/b/c.txt?d=e", http.NoBody)
	if n := testing.AllocsPerRun(100, func() { _, _ = resolved(r, false) }); n != 0 {
		t.Errorf("a path in its final form allocates %v times; want 0", n)
	}
}
