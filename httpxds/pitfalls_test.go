package httpxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/xdsforge/xdsforge/httpxds"
)

// single returns a Transport whose requests all go to one endpoint.
func single(t *testing.T, addr, routeSettings string, opts ...httpxds.Option) *httpxds.Transport {
	t.Helper()
	w := newWorld(t)
	w.cluster("c", "", addr)
	w.routes(`routes { match { prefix: "" } route { cluster: "c" %s } }`, routeSettings)
	return w.transport(opts...)
}

// once is a body that can be read only once: http.NewRequest finds no GetBody for it.
type once struct{ io.Reader }

func post(t *testing.T, rt http.RoundTripper, body io.Reader) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func read(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

// TestPitfall1 expects requests that the server of an HTTP/2 connection did not process to be sent again. It pins the text of
// the error for GOAWAY, which net/http does not export.
func TestPitfall1(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serveGoAway(c, &refused)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	rt := single(t, l.Addr().String(), "", httpxds.WithProtocol(httpxds.HTTP2))
	for i := range 6 {
		for _, body := range []io.Reader{nil, strings.NewReader("text")} {
			if _, err := post(t, rt, body); err != nil {
				t.Errorf("round %d with a %T: %v", i, body, err)
			}
		}
	}
	if refused.Load() == 0 {
		t.Error("the server has refused no request")
	}
	_ = rt.Close()
}

// serveGoAway answers one request on a connection. It refuses the next one with GOAWAY.
func serveGoAway(c net.Conn, refused *atomic.Int64) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	_ = f.WriteSettings()
	var first uint32
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			if first == 0 {
				first = frame.StreamID
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: first, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true}) // :status 200
				continue
			}
			refused.Add(1)
			_ = f.WriteGoAway(first, http2.ErrCodeNo, nil)
			return
		}
	}
}

// TestPitfall2 expects a connection with TLS to negotiate HTTP/2 although the program has a dialer of its own, for which
// http.Transport disables HTTP/2.
func TestPitfall2(t *testing.T) {
	w, addr, upstream := tlsWorld(t)
	w.cluster("c", upstream("server.example"), addr)
	w.routes("%s", to("c"))
	var dials atomic.Int64
	base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	for i, protocol := range []httpxds.Protocol{httpxds.Auto, httpxds.HTTP2} {
		rt := w.transport(httpxds.WithProtocol(protocol), httpxds.WithBase(base))
		if body, err := get(t, rt, "http://svc/"); body != "tls HTTP/2.0" || dials.Load() != int64(i+1) {
			t.Errorf("protocol %d: %q, %v after %d dials; want HTTP/2 by the program's dialer", protocol, body, err, dials.Load())
		}
	}
}

// TestPitfall3 expects sequential requests to use one connection.
func TestPitfall3(t *testing.T) {
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(named("a"))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	rt := single(t, s.Listener.Addr().String(), "")
	for range 20 {
		if _, err := get(t, rt, "http://svc/"); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("20 sequential requests used %d connections, want one", n)
	}
}

// TestPitfall4 expects a request whose body cannot be replayed to be retried if its connection could not be opened.
func TestPitfall4(t *testing.T) {
	var dials atomic.Int64
	base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 2 {
			return nil, errors.New("refused")
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	entered, release := make(chan struct{}), make(chan struct{})
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(entered)
			<-release
		}
		read(w, r)
	})
	rt := single(t, addr, `retry_policy { retry_on: "connect-failure" num_retries { value: 3 } }`, httpxds.WithBase(base))
	finished := make(chan error)
	go func() {
		_, err := get(t, rt, "http://svc/") // holds the only connection
		finished <- err
	}()
	<-entered
	body, err := post(t, rt, once{strings.NewReader("text")})
	close(release)
	if err := <-finished; err != nil {
		t.Error(err)
	}
	if body != "text" || err != nil || dials.Load() < 3 {
		t.Errorf("%q, %v after %d dials; want the whole body after a dial that failed", body, err, dials.Load())
	}
}

// TestPitfall5 expects URLs with the scheme xds to work by RegisterProtocol.
func TestPitfall5(t *testing.T) {
	base := new(http.Transport)
	base.RegisterProtocol("xds", single(t, serve(t, named("a")), ""))
	if body, err := get(t, base, "xds://svc/path"); body != "a HTTP/1.1" {
		t.Errorf("%q, %v", body, err)
	}
}

// TestPitfall6 expects an upgraded connection to work through a reverse proxy, beyond the time limit of its route.
func TestPitfall6(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		<-time.NewTimer(50 * time.Millisecond).C // longer than the limit of the route
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(c, rw)
	})
	rt := single(t, addr, `timeout { nanos: 1000000 }`)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: rt, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "svc"
	}})
	t.Cleanup(proxy.Close)
	r, err := http.NewRequestWithContext(soon(t), http.MethodGet, proxy.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := new(http.Transport).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stream, ok := resp.Body.(io.ReadWriter)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("status %d and a body %T, want an upgraded connection", resp.StatusCode, resp.Body)
	}
	if _, err := io.WriteString(stream, "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(stream, got); err != nil || string(got) != "ping" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPitfall7 expects routes to see binary headers, and no content type that the request does not have. TestPitfall8 is in it:
// an escaped path does not match a route for the plain one, and is sent as it was matched.
func TestPitfall7(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, mirror))
	w.routes(`routes { match { prefix: "/" headers { name: "x-bin" present_match: true } } direct_response { status: 201 } }
		routes { match { prefix: "/" headers { name: "content-type" string_match { prefix: "application/grpc" } } } direct_response { status: 202 } }
		routes { match { prefix: "/admin" } direct_response { status: 403 body { inline_string: "no" } } } %s`, to("c"))
	rt := w.transport()
	for _, tt := range []struct{ path, header, want string }{
		{"/", "X-Bin", ""},
		{"/", "", "GET svc/"},
		{"/admin", "", "no"},
		{"/%61dmin", "", "GET svc/%61dmin"}, // pitfall 8
	} {
		body, err := get(t, rt, "http://svc"+tt.path, func(r *http.Request) {
			if tt.header != "" {
				r.Header.Set(tt.header, "1")
			}
		})
		if body != tt.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tt.path, body, err, tt.want)
		}
	}
}

// TestPitfall10 expects httptrace to report connections.
func TestPitfall10(t *testing.T) {
	rt := single(t, serve(t, named("a")), "")
	for i := range 2 {
		var info httptrace.GotConnInfo
		ctx := httptrace.WithClientTrace(soon(t), &httptrace.ClientTrace{GotConn: func(g httptrace.GotConnInfo) { info = g }})
		if _, err := get(t, rt, "http://svc/", func(r *http.Request) { *r = *r.WithContext(ctx) }); err != nil {
			t.Fatal(err)
		}
		if info.Conn == nil || i == 0 && info.Reused {
			t.Errorf("request %d: httptrace reports the connection %+v", i, info)
		}
	}
}

// TestPitfall11 expects more retries than the four of gRPC.
func TestPitfall11(t *testing.T) {
	var attempts atomic.Int64
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if attempts.Add(1) <= 7 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		read(w, r)
	})
	rt := single(t, addr, `retry_policy { retry_on: "5xx" num_retries { value: 10 } retry_back_off { base_interval { nanos: 1000000 } } }`)
	if body, err := post(t, rt, strings.NewReader("text")); body != "text" || err != nil || attempts.Load() != 8 {
		t.Errorf("%q, %v after %d attempts; want success with the eighth", body, err, attempts.Load())
	}
}

// TestPitfall12 expects a time limit to cover the response, and not the body of a stream.
func TestPitfall12(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.WriteString(w, "start ")
		_ = http.NewResponseController(w).Flush()
		if r.ContentLength == 0 {
			<-r.Context().Done()
		}
		read(w, r)
	})
	rt := single(t, addr, `timeout { seconds: 3 }`, httpxds.WithProtocol(httpxds.HTTP2))
	if body, err := get(t, rt, "http://svc/"); !errors.As(err, new(*httpxds.Error)) || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("a response without an end: %q, %v; want the time limit", body, err)
	}
	pr, pw := io.Pipe()
	go func() {
		for range 4 {
			timer := time.NewTimer(900 * time.Millisecond) // together longer than the limit
			<-timer.C
			_, _ = io.WriteString(pw, "x")
		}
		_ = pw.Close()
	}()
	if body, err := post(t, rt, pr); body != "start xxxx" || err != nil {
		t.Errorf("a stream: %q, %v; want all of it", body, err)
	}
}

// TestRetryConditions expects each condition to retry exactly its failures.
func TestRetryConditions(t *testing.T) {
	for _, tt := range []struct {
		policy   string
		status   int
		header   string
		body     string
		attempts int64
	}{
		{`retry_on: "5xx"`, 500, "", "", 2},
		{`retry_on: "5xx"`, 404, "", "", 1},
		{`retry_on: "gateway-error"`, 500, "", "", 1},
		{`retry_on: "gateway-error"`, 502, "", "", 2},
		{`retry_on: "retriable-4xx"`, 409, "", "", 2},
		{`retry_on: "retriable-4xx"`, 404, "", "", 1},
		{`retry_on: "retriable-status-codes" retriable_status_codes: 418`, 418, "", "", 2},
		{`retry_on: "retriable-status-codes" retriable_status_codes: 418`, 417, "", "", 1},
		{`retry_on: "retriable-headers" retriable_headers { name: "x-again" present_match: true }`, 200, "X-Again", "", 2},
		{`retry_on: "retriable-headers" retriable_headers { name: "x-again" present_match: true }`, 200, "X-Other", "", 1},
		{`retry_on: "retriable-headers" retriable_headers { name: ":status" string_match { exact: "418" } }`, 418, "", "", 2},
		{`retry_on: "retriable-headers" retriable_headers { name: ":status" string_match { exact: "418" } }`, 419, "", "", 1},
		{`retry_on: "retriable-headers" retriable_headers { name: ":method" present_match: true }`, 418, "", "", 1},
		{`retry_on: "envoy-ratelimited"`, 429, "X-Envoy-Ratelimited", "", 2},
		{`retry_on: "5xx"`, 503, "X-Envoy-Ratelimited", "", 1},
		{`retry_on: "unavailable"`, 200, "Grpc-Status", "", 1}, // its value is 1: CANCELLED
		{`retry_on: "cancelled"`, 200, "Grpc-Status", "", 2},
		{`retry_on: "unavailable"`, 503, "", `{"code":"unavailable"}`, 2},
		{`retry_on: "unavailable"`, 503, "", `{"code":"internal"}`, 1},
		{`retry_on: "5xx" retriable_request_headers { name: "x-never" present_match: true }`, 500, "", "", 1},
		{`retry_on: "reset"`, 0, "", "", 2},
		{`retry_on: "connect-failure"`, 0, "", "", 1},
		{`retry_on: "5xx" num_retries { value: 0 }`, 500, "", "", 1},
	} {
		name := fmt.Sprintf("%s, %d %s%s", tt.policy, tt.status, tt.header, tt.body)
		t.Run(name, func(t *testing.T) {
			var attempts atomic.Int64
			addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				attempts.Add(1)
				if tt.status == 0 {
					panic(http.ErrAbortHandler)
				}
				if tt.header != "" {
					w.Header().Set(tt.header, "1")
				}
				if tt.body != "" {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			rt := single(t, addr, `retry_policy { `+tt.policy+` retry_back_off { base_interval { nanos: 1000000 } } }`)
			body, err := get(t, rt, "http://svc/")
			if attempts.Load() != tt.attempts || body != tt.body || (err == nil) != (tt.status != 0) {
				t.Errorf("%d attempts, %q, %v; want %d attempts and %q", attempts.Load(), body, err, tt.attempts, tt.body)
			}
		})
	}
}

// TestPerTryTimeout expects a slow attempt to be replaced, and the error of the last one to name the time limit.
func TestPerTryTimeout(t *testing.T) {
	var attempts atomic.Int64
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n := attempts.Add(1); n == 1 || n > 2 {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "fast")
	})
	rt := single(t, addr, `timeout {} retry_policy { retry_on: "reset" per_try_timeout { seconds: 3 } }`)
	if body, err := get(t, rt, "http://svc/"); body != "fast" || err != nil {
		t.Errorf("%q, %v; want the response of the second attempt", body, err)
	}
	_, err := get(t, rt, "http://svc/")
	var e *httpxds.Error
	if !errors.As(err, &e) || e.Reason != httpxds.Timeout || attempts.Load() != 4 {
		t.Errorf("%v after %d attempts, want a timeout of the fourth", err, attempts.Load())
	}
}
