package webguard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/internal/webguard"
)

// A slow client reads an answer once released.
type slow struct {
	*httptest.ResponseRecorder
	release <-chan struct{}
}

// Write implements [http.ResponseWriter].
func (s slow) Write(b []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(b)
}

// One answer is built at a time. Sixteen may wait for their turns and their readers; a further request has an error.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 16
		turns := webguard.NewTurns("program")
		var building, built atomic.Int32
		build := func() ([]byte, string, error) {
			if n := building.Add(1); n != 1 {
				t.Errorf("%d answers are built at a time", n)
			}
			<-time.NewTimer(time.Second).C // the others have come as far as they can
			building.Add(-1)
			built.Add(1)
			return []byte("body"), "text/plain", nil
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		release := make(chan struct{})
		var group sync.WaitGroup
		answers := make([]slow, most)
		for i := range answers {
			answers[i] = slow{httptest.NewRecorder(), release}
			group.Go(func() { turns.Serve(answers[i], request, build) })
		}
		<-time.NewTimer(time.Minute).C
		if n := built.Load(); n != most {
			t.Errorf("%d answers are built while nobody reads, want %d", n, most)
		}
		w := httptest.NewRecorder()
		turns.Serve(w, request, build)
		if want := "program: requests of the status at a time = 17; must not be more than 16; try again later\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
			t.Errorf("one more request has the status %d and the body %q, want 503 and %q", w.Code, w.Body, want)
		}
		close(release)
		group.Wait()
		for _, a := range answers {
			if a.Code != http.StatusOK || !strings.Contains(a.Body.String(), "body") {
				t.Errorf("an answer has the status %d and the body %q", a.Code, a.Body)
			}
		}
	})
}
