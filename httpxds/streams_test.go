package httpxds_test

import (
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
