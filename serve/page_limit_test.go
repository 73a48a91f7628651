package serve_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A stuck is a response whose client does not read.
type stuck struct {
	*httptest.ResponseRecorder
	release <-chan struct{}
}

// Write implements [http.ResponseWriter].
func (s stuck) Write(b []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(b)
}

// Requests of the page whose responses nobody reads are bounded. A further one has an error that names the limit, until
// one of them ends. Files of the page have no limit.
func TestPagesAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 16
		b := newBench(t, nil)
		h := b.server.StatusHandler()
		release := make(chan struct{})
		var group sync.WaitGroup
		for range most {
			group.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", http.NoBody)
				h.ServeHTTP(stuck{httptest.NewRecorder(), release}, r)
			})
		}
		synctest.Wait()
		w := get(h, "/status", "application/json")
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "must not be more than 16") {
			t.Errorf("request %d has the status %d and the body %q, want 503 and the limit", most+1, w.Code, w.Body)
		}
		if w := get(h, "/page.css", ""); w.Code != http.StatusOK {
			t.Errorf("a file of the page has the status %d, want 200", w.Code)
		}
		close(release)
		group.Wait()
		if w := get(h, "/status", "application/json"); w.Code != http.StatusOK {
			t.Errorf("a later request has the status %d, want 200", w.Code)
		}
	})
}
