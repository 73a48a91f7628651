package httpxds_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestStreamLimit expects requests above the stream limit of an HTTP/2 server to use further connections. Each request waits
// until all have arrived.
func TestStreamLimit(t *testing.T) {
	const limit, requests = 2, 8
	var arrived atomic.Int64
	all := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			return
		}
		if arrived.Add(1) == requests {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: limit}
	s.Start()
	t.Cleanup(s.Close)
	rt := single(t, s.Listener.Addr().String(), "timeout {}", httpxds.WithProtocol(httpxds.HTTP2))
	if _, err := get(t, rt, "http://svc/first"); err != nil { // then the client knows the limit
		t.Fatal(err)
	}
	results := make(chan error, requests)
	for range requests {
		go func() {
			_, err := get(t, rt, "http://svc/")
			results <- err
		}()
	}
	for range requests {
		if err := <-results; err != nil {
			t.Errorf("%v, after %d of %d requests have arrived", err, arrived.Load(), requests)
		}
	}
}

// TestCloseDuringTheRequest expects the end of a response to end its request, although the body of the request has no end and
// ignores Close, as in a reverse proxy.
func TestCloseDuringTheRequest(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "early")
		if r.URL.Path == "/long" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	for _, settings := range []string{"timeout {}", "timeout { seconds: 3600 }"} {
		rt := single(t, addr, settings, httpxds.WithProtocol(httpxds.HTTP2))
		for _, path := range []string{"/", "/long"} {
			body, unblock := io.Pipe()
			t.Cleanup(func() { _ = unblock.Close() })
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc"+path, once{body})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, len("early"))); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if path == "/" {
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			_ = resp.Body.Close()
			if err := r.Context().Err(); err != nil {
				t.Errorf("%s with %s: Close has waited for the body of the request: %v", path, settings, err)
			}
		}
	}
}
