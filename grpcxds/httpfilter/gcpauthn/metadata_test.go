package gcpauthn

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
