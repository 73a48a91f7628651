package httpxds_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// earlyEndpoint starts an endpoint that responds with 401 when it has the headers of a request, and then reads the rest.
func earlyEndpoint(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	var open sync.WaitGroup
	t.Cleanup(open.Wait)
	t.Cleanup(func() { _ = l.Close() })
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if line == "\r\n" {
						_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
						_, _ = io.Copy(io.Discard, r)
						return
					}
				}
			})
		}
	})
	return l.Addr().String()
}

// deadEndpoint returns an address where nobody listens.
func deadEndpoint(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	check(t, l.Close())
	return l.Addr().String()
}

// postInSequence sends requests with a body by one client. It returns the number of connections.
func postInSequence(t *testing.T, addr string, size, requests, status int, announce bool) int64 {
	t.Helper()
	var conns atomic.Int64
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conns.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	defer tr.CloseIdleConnections()
	lost := 0
	for i := range requests {
		r, err := http.NewRequestWithContext(soon(t), http.MethodPost, fmt.Sprintf("http://%s/%d", addr, i), once{bytes.NewReader(make([]byte, size))})
		check(t, err)
		if announce {
			r.ContentLength = int64(size)
		}
		resp, err := tr.RoundTrip(r)
		if err != nil {
			lost++
			t.Log(err)
			continue
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if _ = resp.Body.Close(); err != nil || resp.StatusCode != status {
			lost++
			t.Log(resp.Status, err)
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d requests with %d bytes are lost", lost, requests, size)
	}
	return conns.Load()
}

// forwardTo returns a server that forwards all requests to a handler. Panics of net/http fail the test.
func forwardTo(t *testing.T, h http.Handler) string {
	t.Helper()
	s := newSite(t, http.NotFoundHandler(), "", nil, httpxds.WithForwarding(h), httpxds.WithHTTPServer(&http.Server{ErrorLog: log.New(panics{t}, "", 0)}))
	s.listen(chain("one", hosts(`routes { match { prefix: "/" } route { cluster: "c" } }`)))
	s.serving("")
	return s.addr
}

// panics is a log that fails the test for panics.
type panics struct{ testing.TB }

// Write implements [io.Writer].
func (p panics) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("panic")) {
		p.Errorf("%s", line)
	}
	return len(line), nil
}

// forwarders are handlers of WithForwarding that return although the body of the request is unread.
func forwarders(t *testing.T) map[string]struct {
	http.Handler
	status int
} {
	t.Helper()
	dead, early := deadEndpoint(t), earlyEndpoint(t)
	direct := func(addr string) http.Handler {
		tr := new(http.Transport)
		t.Cleanup(tr.CloseIdleConnections)
		p := proxyTo(to1(addr, tr))
		p.ErrorLog = log.New(io.Discard, "", 0)
		return p
	}
	return map[string]struct {
		http.Handler
		status int
	}{
		"dead endpoint":              {direct(dead), http.StatusBadGateway},
		"dead endpoint, Transport":   {proxyTo(single(t, dead, "", httpxds.WithGatewayResponses())), http.StatusServiceUnavailable},
		"early response":             {direct(early), http.StatusUnauthorized},
		"early response, Transport":  {proxyTo(single(t, early, "", httpxds.WithGatewayResponses())), http.StatusUnauthorized},
		"middleware":                 {status(http.StatusUnauthorized), http.StatusUnauthorized},
		"middleware, part of a body": {partly(false), http.StatusUnauthorized},
		"body read by another goroutine after the handler": {partly(true), http.StatusUnauthorized},
	}
}

// to1 sends requests to one address.
func to1(addr string, rt http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		out := r.Clone(r.Context())
		out.URL.Host = addr
		return rt.RoundTrip(out)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// partly reads a byte of the body and responds. Another goroutine may read on.
func partly(late bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 1))
		if late {
			go func() { _, _ = io.Copy(io.Discard, r.Body) }()
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no")
	})
}

// TestForwardedPosts expects a forwarding handler that leaves a body unread to lose no request, and to keep the connections of
// the clients as net/http does.
func TestForwardedPosts(t *testing.T) {
	for name, tt := range forwarders(t) {
		for _, size := range []int{10, 3000, 100_000} {
			for _, announce := range []bool{true, false} {
				t.Run(fmt.Sprint(name, size, announce), func(t *testing.T) {
					plain := httptest.NewServer(tt.Handler)
					defer plain.Close()
					const requests = 50
					theirs := postInSequence(t, plain.Listener.Addr().String(), size, requests, tt.status, announce)
					if ours := postInSequence(t, forwardTo(t, tt.Handler), size, requests, tt.status, announce); ours > theirs+5 {
						t.Errorf("%d connections; net/http needs %d", ours, theirs)
					}
				})
			}
		}
	}
}

// TestForwardedLargePosts expects a client to learn that its connection closes if the rest of a body is too long to be read.
func TestForwardedLargePosts(t *testing.T) {
	for name, tt := range map[string]http.Handler{
		"unread": status(http.StatusUnauthorized),
		"closed": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.Body.Close()
			w.WriteHeader(http.StatusUnauthorized)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			addr := forwardTo(t, tt)
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://"+addr, once{bytes.NewReader(make([]byte, 1<<20))})
			check(t, err)
			r.ContentLength = 1 << 20
			resp, err := http1.client(t).Transport.RoundTrip(r)
			check(t, err)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized || !resp.Close {
				t.Errorf("status %d, and the connection stays: %t; want 401 and the end", resp.StatusCode, !resp.Close)
			}
		})
	}
}

// TestResponseBeforeTheBody expects a client to get the response of a forwarding handler before it sends the body, also with
// Expect: 100-continue.
func TestResponseBeforeTheBody(t *testing.T) {
	addr := forwardTo(t, status(http.StatusUnauthorized))
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		check(t, err)
		t.Cleanup(func() { _ = c.Close() })
		check(t, c.SetDeadline(time.Now().Add(30*time.Second)))
		_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"+expect+"\r\n")
		check(t, err)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		check(t, err)
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: status %s before the body; want 401", expect, resp.Status)
		}
		if expect != "" {
			continue // the connection ends
		}
		_, err = io.WriteString(c, "hello")
		check(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		check(t, err)
		_, err = io.WriteString(c, "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
		check(t, err)
		if resp, err = http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("the next request: %v, %v; want 401", resp, err)
		}
	}
}

// TestHijackedWhileTheBodyIsRead expects an upgraded connection to have its bytes to itself, although another goroutine reads the
// body of the request.
func TestHijackedWhileTheBodyIsRead(t *testing.T) {
	ended := make(chan error, 1)
	addr := forwardTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reading := make(chan struct{})
		go func() {
			_, _ = io.ReadFull(r.Body, make([]byte, 2))
			close(reading)
			_, _ = io.Copy(io.Discard, r.Body) // blocks until the hijack
			_, err := r.Body.Read(make([]byte, 1))
			ended <- err
		}()
		<-reading
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n")
		_ = rw.Flush()
		line, err := rw.ReadString('\n')
		_, _ = fmt.Fprintf(c, "%s %v", strings.TrimSpace(line), err)
	}))
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	check(t, err)
	defer c.Close()
	check(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: raw\r\nContent-Length: 100\r\n\r\nxx")
	check(t, err)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	check(t, err)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %s", resp.Status)
	}
	_, err = io.WriteString(c, "hello\n")
	check(t, err)
	if all, err := io.ReadAll(r); string(all) != "hello <nil>" || err != nil {
		t.Errorf("%q, %v; want all bytes of the upgraded connection", all, err)
	}
	if err := <-ended; err == nil {
		t.Error("the body can be read after the hijack")
	}
}
