package httpxds_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"golang.org/x/net/http2"

	"github.com/xdsforge/xdsforge/httpxds"
)

// A wrongRequest is one that the program made wrongly.
type wrongRequest struct {
	name string
	edit func(*http.Request)
}

// body returns an edit that sets the body and its length.
func bodyOf(r io.Reader, length int64) func(*http.Request) {
	return func(q *http.Request) { q.Body, q.ContentLength = io.NopCloser(r), length }
}

var errDisk = errors.New("disk error")

// wrongRequests returns all kinds, with new bodies.
func wrongRequests() []wrongRequest {
	return []wrongRequest{
		{"no URL", func(r *http.Request) { r.URL = nil }},
		{"no headers", func(r *http.Request) { r.Header = nil }},
		{"a foreign scheme", func(r *http.Request) { r.URL.Scheme = "ftp" }},
		{"no scheme", func(r *http.Request) { r.URL.Scheme = "" }},
		{"no host in the URL", func(r *http.Request) { r.URL.Host = "" }},
		{"a method with a space", func(r *http.Request) { r.Method = "A B" }},
		{"a header value with a line feed", func(r *http.Request) { r.Header.Set("X", "a\nb") }},
		{"a header name with a space", func(r *http.Request) { r.Header["A B"] = []string{"c"} }},
		{"a trailer value with a line feed", func(r *http.Request) { r.Trailer = http.Header{"X": {"a\nb"}} }},
		{"a trailer that is none", func(r *http.Request) { r.Trailer = http.Header{"Content-Length": {"1"}} }},
		{"a query with a control character", func(r *http.Request) { r.URL.RawQuery = "a=\x01" }},
		{"an opaque URL with a control character", func(r *http.Request) { r.URL.Opaque = "//svc/\x01" }},
		{"a length without a body", func(r *http.Request) { r.Body, r.ContentLength = nil, 5 }},
		{"a longer body in memory", bodyOf(strings.NewReader("hello"), 3)},
		{"a shorter body in memory", bodyOf(strings.NewReader("hello"), 7)},
		{"a longer body", bodyOf(iotest.OneByteReader(strings.NewReader("hello")), 3)},
		{"a shorter body", bodyOf(iotest.OneByteReader(strings.NewReader("hello")), 7)},
		{"a body that fails", bodyOf(io.MultiReader(strings.NewReader("he"), iotest.ErrReader(errDisk)), -1)},
		{"a body with GetBody that fails", func(r *http.Request) {
			bodyOf(iotest.ErrReader(errDisk), 5)(r)
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(errDisk)), nil }
		}},
	}
}

// TestWrongRequests expects requests that the program made wrongly to fail at once, to count against no endpoint, and to be sent
// at most once. Their bodies are closed once.
func TestWrongRequests(t *testing.T) {
	for name, p := range eachProtocol {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var received sync.Map // the number of requests by path
			w.cluster("c", `outlier_detection { interval { seconds: 3600 } consecutive_5xx { value: 1 } max_ejection_percent { value: 100 } }`,
				serve(t, func(w http.ResponseWriter, r *http.Request) {
					n, _ := received.LoadOrStore(r.URL.Path, new(atomic.Int64))
					n.(*atomic.Int64).Add(1)
					read(w, r)
				}))
			w.routes(`routes { match { prefix: "" } route { cluster: "c" retry_policy { retry_on: "5xx,reset,connect-failure" num_retries { value: 3 }
				retry_back_off { base_interval { nanos: 1000000 } } } } }`)
			rt := w.transport(httpxds.WithProtocol(p), httpxds.WithGatewayResponses())
			load(t, rt, 1, 3)
			for _, wrong := range wrongRequests() {
				r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", strings.NewReader("hello"))
				check(t, err)
				r.URL.Path = "/" + wrong.name
				wrong.edit(r)
				closed := new(atomic.Int64)
				inMemory := strings.Contains(wrong.name, "in memory") // its Close has no effect
				if r.Body != nil && !inMemory {
					r.Body = closeHook{r.Body, closed}
				}
				resp, err := rt.RoundTrip(r)
				if err == nil && wrong.name == "a longer body" && p == httpxds.HTTP1 { // the response came before the end of the body
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					continue
				}
				if e := (*httpxds.Error)(nil); resp != nil || !errors.As(err, &e) || e.Reason != httpxds.Invalid {
					t.Errorf("%s: %v, %v; want an invalid request", wrong.name, resp, err)
				}
				if strings.Contains(wrong.name, "fails") && !errors.Is(err, errDisk) {
					t.Errorf("%s: %v; want the error of the body", wrong.name, err)
				}
				until(t, func() (bool, string) { // net/http closes some after RoundTrip
					return r.Body == nil || inMemory || closed.Load() == 1, fmt.Sprintf("%s: the body was closed %d times", wrong.name, closed.Load())
				})
			}
			received.Range(func(path, n any) bool {
				if n := n.(*atomic.Int64).Load(); path != "/" && n > 1 {
					t.Errorf("%s: the endpoint got %d requests; want at most one", path, n)
				}
				return true
			})
			if n := w.ejected(); n != 0 {
				t.Errorf("%d endpoints are ejected", n)
			}
			load(t, rt, 1, 3)
		})
	}
}

// A closeHook counts Close.
type closeHook struct {
	io.ReadCloser
	closed *atomic.Int64
}

// Close implements [io.Closer].
func (h closeHook) Close() error {
	h.closed.Add(1)
	return h.ReadCloser.Close()
}

// TestInvalidForHTTP2 expects requests that only HTTP/2 cannot express to count against no endpoint.
func TestInvalidForHTTP2(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", `outlier_detection { interval { seconds: 3600 } consecutive_5xx { value: 1 } max_ejection_percent { value: 100 } }`, serve(t, read))
	w.routes(`routes { match { prefix: "" } route { cluster: "c" retry_policy { retry_on: "5xx" num_retries { value: 3 } } } }`)
	rt := w.transport(httpxds.WithProtocol(httpxds.HTTP2))
	load(t, rt, 1, 1)
	for name, edit := range map[string]func(*http.Request){
		"an unknown transfer encoding": func(r *http.Request) { r.Header.Set("Transfer-Encoding", "x") },
		"a host with a space":          func(r *http.Request) { r.Host = "a b" },
		"headers above the limit":      func(r *http.Request) { r.Header.Set("X", strings.Repeat("x", 2<<20)) },
	} {
		_, err := get(t, rt, "http://svc/", edit)
		if e := (*httpxds.Error)(nil); !errors.As(err, &e) || e.Reason != httpxds.Invalid {
			t.Errorf("%s: %v; want an invalid request", name, err)
		}
	}
	if n := w.ejected(); n != 0 {
		t.Errorf("%d endpoints are ejected", n)
	}
}

// TestFailedRewind expects the error of GetBody if a request must be sent again.
func TestFailedRewind(t *testing.T) {
	rt := single(t, serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		`retry_policy { retry_on: "5xx" num_retries { value: 3 } retry_back_off { base_interval { nanos: 1000000 } } }`)
	r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", strings.NewReader("hello"))
	check(t, err)
	r.GetBody = func() (io.ReadCloser, error) { return nil, errDisk }
	_, err = rt.RoundTrip(r)
	if e := (*httpxds.Error)(nil); !errors.As(err, &e) || e.Reason != httpxds.Invalid || !errors.Is(err, errDisk) {
		t.Errorf("%v; want an invalid request by the error of GetBody", err)
	}
}

// TestRepeatsAreBounded expects a request that its endpoint refuses again and again to be sent eleven times, and by the policy of
// retries as often again.
func TestRepeatsAreBounded(t *testing.T) {
	for retries, want := range []int64{11, 22} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		check(t, err)
		var refused atomic.Int64
		var open sync.WaitGroup
		open.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				open.Go(func() { refuse(c, &refused) })
			}
		})
		rt := single(t, l.Addr().String(), fmt.Sprintf(`retry_policy { retry_on: "refused-stream" num_retries { value: %d } retry_back_off { base_interval { nanos: 1000000 } } }`, retries),
			httpxds.WithProtocol(httpxds.HTTP2))
		_, err = post(t, rt, strings.NewReader("hello"))
		if e := (*httpxds.Error)(nil); !errors.As(err, &e) || e.Reason != httpxds.Reset || refused.Load() != want {
			t.Errorf("%d retries: %v after %d requests; want %d", retries, err, refused.Load(), want)
		}
		_, _ = rt.Close(), l.Close()
		open.Wait()
	}
}

// refuse is a connection of HTTP/2 whose server refuses each request. It counts them.
func refuse(c net.Conn, refused *atomic.Int64) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	_ = f.WriteSettings()
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
			refused.Add(1)
			_ = f.WriteRSTStream(frame.StreamID, http2.ErrCodeRefusedStream)
		}
	}
}

// TestHostsWithoutURL expects Hosts to return the errors of a Transport for requests without a usable URL.
func TestHostsWithoutURL(t *testing.T) {
	w := newWorld(t)
	h, err := httpxds.NewHosts(httpxds.WithEnv(w.env))
	check(t, err)
	defer h.Close()
	for _, wrong := range wrongRequests()[:4] {
		r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", strings.NewReader("hello"))
		check(t, err)
		wrong.edit(r)
		_, err = h.RoundTrip(r)
		if e := (*httpxds.Error)(nil); !errors.As(err, &e) || e.Reason != httpxds.Invalid {
			t.Errorf("%s: %v; want an invalid request", wrong.name, err)
		}
	}
}
