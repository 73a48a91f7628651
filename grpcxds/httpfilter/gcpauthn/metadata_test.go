package gcpauthn

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

func jwt(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".sig"
}

// The metadata server gets the audience and the header, and its response has the expiry.
func TestMetadataServer(t *testing.T) {
	var code int
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" || r.URL.Query().Get("audience") != "https://a?b=c&d" ||
			r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/identity" {
			t.Errorf("the request is %v with %v", r.URL, r.Header)
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	source := metadataServer(s.URL)
	for _, test := range []struct {
		code int
		body string
		want codes.Code
	}{
		{200, jwt(`{"exp": 1800000000}`) + "\n", codes.OK},
		{200, jwt(`{"exp": 1800000000.5, "iss": "x"}`), codes.OK},
		{200, "no token", codes.Unauthenticated},
		{200, "a.b", codes.Unauthenticated},
		{200, "a.%.c", codes.Unauthenticated},
		{200, jwt(`{`), codes.Unauthenticated},
		{200, jwt(`{}`), codes.Unauthenticated},
		{200, jwt(`{"exp": "x"}`), codes.Unauthenticated},
		{200, jwt(`{"exp": -1}`), codes.Unauthenticated},
		{200, jwt(`{"exp": 1e300}`), codes.Unauthenticated},
		{200, jwt(`{"exp": 1800000000, "x": "` + strings.Repeat("x", maxToken) + `"}`), codes.Unauthenticated},
		{404, "", codes.Unauthenticated},
		{500, "", codes.Unauthenticated},
		{429, "", codes.Unavailable},
		{502, "", codes.Unavailable},
		{503, "", codes.Unavailable},
		{504, "", codes.Unavailable},
	} {
		code, body = test.code, test.body
		token, err := source(t.Context(), "https://a?b=c&d")
		if status.Code(err) != test.want {
			t.Errorf("status %d, %.80q: %v; want %v", test.code, test.body, err, test.want)
		}
		if err == nil && (token.Value != strings.TrimSpace(test.body) || !token.Expiry.Equal(time.Unix(1800000000, 0))) {
			t.Errorf("%.80q: the token is %v", test.body, token)
		}
	}
	s.Close()
	if _, err := source(t.Context(), "https://a?b=c&d"); err == nil || status.Code(err) == codes.Unauthenticated {
		t.Errorf("no server: %v; want an error that is not UNAUTHENTICATED", err)
	}
}

// The environment names another metadata server, such as an emulator.
func TestMetadataHost(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(jwt(`{"exp": 1800000000}`)))
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	t.Setenv("GCE_METADATA_HOST", host)
	f := Filter(nil)
	t.Setenv("GCE_METADATA_HOST", "later.invalid")
	in, err := f.NewClient(httpfilter.Host{Name: "gcp"})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got := header(t.Context(), in.(*instance).cache.get("a")); got != "Bearer "+jwt(`{"exp": 1800000000}`) {
		t.Errorf("the header is %q; want the token of the named server", got)
	}
	for _, wrong := range []string{s.URL, host + "/x", "u@" + host, host + "?x=y", host + "#x", "a b", "h:x", ":80", strings.Repeat("h", 300)} {
		t.Setenv("GCE_METADATA_HOST", wrong)
		if _, err := environmentServer()(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "GCE_METADATA_HOST = ") {
			t.Errorf("GCE_METADATA_HOST is %.40q: %v; want an error that names it", wrong, err)
		}
	}
	t.Setenv("GCE_METADATA_HOST", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := environmentServer()(ctx, "a"); err == nil || !strings.Contains(err.Error(), "http://metadata.google.internal/") {
		t.Errorf("without the variable: %v; want a request to metadata.google.internal", err)
	}
}
