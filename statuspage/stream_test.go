package statuspage_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/statuspage"
)

// A reader reads server-sent events.
type reader struct {
	resp *http.Response
	in   *bufio.Scanner
}

func open(t *testing.T, ctx context.Context, url string) *reader { //nolint:revive // t is first in tests
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &reader{resp, bufio.NewScanner(resp.Body)}
}

// next returns the name and the data of the next event.
func (r *reader) next() (name, data string, ok bool) {
	for r.in.Scan() {
		line := r.in.Text()
		if v, found := strings.CutPrefix(line, "event: "); found {
			name = v
		}
		if v, found := strings.CutPrefix(line, "data: "); found {
			return name, v, true
		}
	}
	return "", "", false
}

func (w *world) serve() string {
	s := httptest.NewServer(w.handler)
	w.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return s.URL
}

// The stream reports events of clients, and changes that are no events, such as a failed endpoint.
func TestStream(t *testing.T) {
	w := newWorld(t, 0)
	r := open(t, t.Context(), w.serve())
	if got := r.resp.Header.Get("Content-Type"); got != "text/event-stream" || r.resp.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("Content-Type = %q", got)
	}
	if !r.in.Scan() || !strings.HasPrefix(r.in.Text(), ":") { // from here on, the stream follows
		t.Fatal("the stream does not start with a comment")
	}
	w.play("reject")
	for {
		name, data, ok := r.next()
		if !ok {
			t.Fatal("the stream ended")
		}
		var e struct {
			Client string
			Event  struct{ Kind string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if name == "xds" && e.Client == checkout && e.Event.Kind == "REJECTED" {
			break
		}
	}
	w.play("server")
	for {
		if name, _, ok := r.next(); !ok || name == "state" {
			if !ok {
				t.Error("the stream ended")
			}
			return
		}
	}
}

// A stream ends with its request, and leaves its place to another one. There is a limit of open streams.
func TestStreamsAreLimited(t *testing.T) {
	w := &world{T: t, handler: statuspage.Handler(emptyEnv(t))}
	url := w.serve()
	ctx, cancel := context.WithCancel(t.Context())
	for range 32 {
		if r := open(t, ctx, url); r.resp.StatusCode != http.StatusOK || !r.in.Scan() {
			t.Fatalf("status %d", r.resp.StatusCode)
		}
	}
	if r := open(t, t.Context(), url); r.resp.StatusCode != http.StatusServiceUnavailable || r.resp.Header.Get("Retry-After") == "" {
		t.Errorf("status of one more stream = %d; want 503", r.resp.StatusCode)
	}
	cancel()
	w.await("room for a stream", func() bool { return open(t, t.Context(), url).resp.StatusCode == http.StatusOK })
}

// The limits of time of a server, which end other requests, do not end the stream.
func TestStreamOfAServerWithLimits(t *testing.T) {
	const limit = 100 * time.Millisecond
	w := newWorld(t, 0)
	s := httptest.NewUnstartedServer(w.handler)
	s.Config.ReadTimeout, s.Config.WriteTimeout = limit, limit
	s.Start()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	r := open(t, t.Context(), s.URL)
	if !r.in.Scan() {
		t.Fatal("the stream does not start")
	}
	<-time.NewTimer(3 * limit).C
	w.play("reject")
	if _, _, ok := r.next(); !ok {
		t.Error("the stream ended with the limits of the server")
	}
}
