package xdsd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

// A stuck is a response whose client does not read until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	release <-chan struct{}
}

// Write implements [http.ResponseWriter].
func (s stuck) Write(b []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(b)
}

// Each page with states has a limit of requests whose responses nobody reads. The health has none.
func TestPagesAtATime(t *testing.T) {
	for _, path := range []string{"/", "/status", "/digests"} {
		synctest.Test(t, func(t *testing.T) {
			const most = 16
			a := new(app)
			if err := a.freeze(nil); err != nil {
				t.Fatal(err)
			}
			s, err := serve.New(a.types, map[string]source.Source{"": source.NewMemory()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			h := a.handler(s, nil, nil, newDrift(a, nil))
			request := func(path string) *http.Request {
				return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, http.NoBody)
			}
			release := make(chan struct{})
			var group sync.WaitGroup
			for range most {
				group.Go(func() { h.ServeHTTP(stuck{httptest.NewRecorder(), release}, request(path)) })
			}
			synctest.Wait()
			w, health := httptest.NewRecorder(), httptest.NewRecorder()
			h.ServeHTTP(w, request(path))
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "must not be more than 16") {
				t.Errorf("%s: request %d has the status %d and the body %q, want 503 and the limit", path, most+1, w.Code, w.Body)
			}
			h.ServeHTTP(health, request("/healthz"))
			if health.Code != http.StatusOK {
				t.Errorf("%s: /healthz has the status %d, want 200", path, health.Code)
			}
			close(release)
			group.Wait()
		})
	}
}
