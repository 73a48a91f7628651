package httpxds_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestStreamLimit expects requests above the stream limit of an HTTP/2 server to use further connections. Each request waits
// until all have arrived.
func TestStreamLimit(t *testing.T) {
	for name, first := range map[string]bool{"a limit that is known": true, "SETTINGS that come late": false} {
		t.Run(name, func(t *testing.T) { testStreamLimit(t, first) })
	}
}

// testStreamLimit sends requests that end together, to a server with a limit of streams. The client has had an answer to a first
// request, or each connection tells the limit after a pause.
func testStreamLimit(t *testing.T, first bool) {
	t.Helper()
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
	if !first {
		s.Listener = lateListener{s.Listener}
	}
	s.Start()
	t.Cleanup(s.Close)
	rt := single(t, s.Listener.Addr().String(), "timeout {}", httpxds.WithProtocol(httpxds.HTTP2))
	if first {
		if _, err := get(t, rt, "http://svc/first"); err != nil {
			t.Fatal(err)
		}
	}
	results := make(chan error, requests)
	for range requests {
		go func() {
			_, err := get(t, rt, "http://svc/", func(r *http.Request) {
				if !first { // then SETTINGS come after the choice of the connection and before the request
					trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { <-time.NewTimer(2 * lateness).C }}
					*r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
				}
			})
			results <- err
		}()
	}
	for range requests {
		if err := <-results; err != nil {
			t.Errorf("%v, after %d of %d requests have arrived", err, arrived.Load(), requests)
		}
	}
}

// lateness is the time until the first bytes of a connection of a lateListener.
const lateness = 100 * time.Millisecond

// A lateListener has connections whose first bytes, the SETTINGS of HTTP/2, come late.
type lateListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &lateConn{Conn: c}, err
}

type lateConn struct {
	net.Conn
	late sync.Once
}

// Write implements [net.Conn].
func (c *lateConn) Write(b []byte) (int, error) {
	c.late.Do(func() { <-time.NewTimer(lateness).C })
	return c.Conn.Write(b)
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

// TestReadAfterClose expects Read to fail after Close, also if the response was read to its end before. It expects the next request
// to succeed.
func TestReadAfterClose(t *testing.T) {
	addr := serve(t, read)
	for _, p := range []httpxds.Protocol{httpxds.HTTP1, httpxds.HTTP2} {
		for _, settings := range []string{"timeout {}", "timeout { seconds: 3600 }"} {
			rt := single(t, addr, settings, httpxds.WithProtocol(p))
			for range 3 {
				r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := rt.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Error(err)
				}
				if err := resp.Body.Close(); err != nil {
					t.Errorf("protocol %v with %s: Close: %v", p, settings, err)
				}
				if _, err := resp.Body.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("protocol %v with %s: Read after Close returns %v; want the error of a closed body", p, settings, err)
				}
			}
		}
	}
}
