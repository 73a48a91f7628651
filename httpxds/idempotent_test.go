package httpxds_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// An idempotent request is sent again if a connection of HTTP/1.1 that was in use before closes without a response, as by
// http.Transport. Other requests fail.
func TestIdempotentRequestsAreSentAgain(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]bool) // connections by the address of the client
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !seen[r.RemoteAddr] {
			seen[r.RemoteAddr] = true
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	defer s.Close()
	for _, tt := range []struct {
		name string
		edit func(*http.Request)
		ok   bool
	}{
		{"GET", func(*http.Request) {}, true},
		{"HEAD", func(r *http.Request) { r.Method = http.MethodHead }, true},
		{"POST", func(r *http.Request) { r.Method = http.MethodPost }, false},
		{"POST with a key", func(r *http.Request) { r.Method, r.Header = http.MethodPost, http.Header{"Idempotency-Key": {"1"}} }, true},
		{"DELETE", func(r *http.Request) { r.Method = http.MethodDelete }, false},
	} {
		rt := single(t, s.Listener.Addr().String(), "")
		if _, err := get(t, rt, "http://svc/", tt.edit); err != nil { // opens the connection
			t.Fatal(err)
		}
		_, err := get(t, rt, "http://svc/", tt.edit)
		var e *httpxds.Error
		if tt.ok && err != nil || !tt.ok && (!errors.As(err, &e) || e.Reason != httpxds.Reset) {
			t.Errorf("%s on a connection that closes: %v; want success: %t", tt.name, err, tt.ok)
		}
	}
}
