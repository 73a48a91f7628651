package httpxds_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestUnfinishedResponse expects a retry although the body of the failed response has no end.
func TestUnfinishedResponse(t *testing.T) {
	for protocol, proto := range protocols {
		for _, length := range []string{"", "5", "5000"} {
			t.Run(proto+" "+length, func(t *testing.T) {
				var requests atomic.Int64
				addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if requests.Add(1) > 1 {
						_, _ = io.WriteString(w, "ok")
						return
					}
					if length != "" {
						w.Header().Set("Content-Length", length)
					}
					w.WriteHeader(http.StatusServiceUnavailable)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				})
				rt := single(t, addr, `timeout {} retry_policy { retry_on: "5xx" retry_back_off { base_interval { nanos: 1000000 } } }`, httpxds.WithProtocol(protocol))
				if body, err := get(t, rt, "http://svc/"); err != nil || body != "ok" {
					t.Errorf("%q, %v after %d attempts; want the response of the second", body, err, requests.Load())
				}
			})
		}
	}
}

// bodies makes the bodies of a request, and counts those that are open.
type bodies struct{ open atomic.Int64 }

func (b *bodies) body() (io.ReadCloser, error) {
	b.open.Add(1)
	return &countedBody{Reader: strings.NewReader("hello"), bodies: b}, nil
}

type countedBody struct {
	io.Reader
	bodies *bodies
	closed atomic.Bool
}

func (b *countedBody) Close() error {
	if !b.closed.Swap(true) {
		b.bodies.open.Add(-1)
	}
	return nil
}

// TestBodiesOfRetriesAreClosed expects the bodies of all attempts to be closed, also of attempts that are not made.
func TestBodiesOfRetriesAreClosed(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	var ending *httptest.Server
	ending = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = ending.Listener.Close() // the next attempt finds no endpoint
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer ending.Close()
	const retry = `retry_policy { retry_on: "5xx,connect-failure" num_retries { value: 2 } retry_back_off { base_interval { %s } max_interval { %s } } }`
	short, long := fmt.Sprintf(retry, "nanos: 1000000", "nanos: 1000000"), fmt.Sprintf(retry, "seconds: 3600", "seconds: 36000")
	for name, test := range map[string]struct{ cluster, route, addr, scheme string }{
		"all retries":           {route: short, addr: addr},
		"a limit of retries":    {`circuit_breakers { thresholds { max_retries { value: 0 } } }`, short, addr, ""},
		"the end of the time":   {route: "timeout { nanos: 50000000 } " + long, addr: addr},
		"no connection":         {route: short, addr: "127.0.0.1:1"},
		"an endpoint that ends": {route: short, addr: ending.Listener.Addr().String()},
		"no TLS":                {route: short, addr: addr, scheme: "https"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster("c", test.cluster, test.addr)
			w.routes(`routes { match { prefix: "" } route { cluster: "c" %s } }`, test.route)
			rt := w.transport()
			var all bodies
			body, err := all.body()
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, cmp.Or(test.scheme, "http")+"://svc/", body)
			if err != nil {
				t.Fatal(err)
			}
			r.GetBody = all.body
			if resp, err := rt.RoundTrip(r); err == nil {
				_ = resp.Body.Close()
			}
			until(t, func() (bool, string) { return all.open.Load() == 0, fmt.Sprint(all.open.Load(), " bodies are open") })
		})
	}
}

// A rewoundBody is a body whose GetBody rewinds it, as that of Connect does. Its reads after the last byte wait until it is
// closed or rewound.
type rewoundBody struct {
	mu      sync.Mutex
	changed sync.Cond
	text    string
	read    int
	rewound bool
	closed  bool
}

func newRewoundBody(text string) *rewoundBody {
	b := &rewoundBody{text: text}
	b.changed.L = &b.mu
	return b
}

func (b *rewoundBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.read == len(b.text) && !b.closed && !b.rewound {
		b.changed.Wait()
	}
	n := copy(p, b.text[b.read:])
	b.read += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *rewoundBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
	return nil
}

func (b *rewoundBody) rewind() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.rewound, b.closed = 0, true, false
	b.changed.Broadcast()
	return b, nil
}

// TestRetryOfRewoundBody expects the next attempt to get the whole of a body that GetBody rewinds, although the attempt before
// still reads it.
func TestRetryOfRewoundBody(t *testing.T) {
	for protocol, proto := range protocols {
		t.Run(proto, func(t *testing.T) {
			var attempts atomic.Int64
			addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
				b := make([]byte, 4)
				n, err := io.ReadFull(r.Body, b)
				if attempts.Add(1) == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done() // the end of the response would end the read
					return
				}
				_, _ = fmt.Fprint(w, string(b[:n]), err)
			})
			body := newRewoundBody("text")
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", body)
			if err != nil {
				t.Fatal(err)
			}
			r.GetBody = body.rewind
			if protocol == httpxds.HTTP1 {
				r.ContentLength = 4 // in HTTP/2, net/http sends a body of known length after it has read the end
			}
			resp, err := single(t, addr, retry5xx, httpxds.WithProtocol(protocol)).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); string(b) != "text<nil>" || err != nil || attempts.Load() != 2 {
				t.Errorf("%q, %v after %d attempts; want the whole body in the second attempt", b, err, attempts.Load())
			}
		})
	}
}

// TestCloseDuringRead closes the bodies of responses while another goroutine reads them.
func TestCloseDuringRead(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data"); err != nil {
				return
			}
		}
	})
	for protocol, proto := range protocols {
		rt := single(t, addr, "timeout {}", httpxds.WithProtocol(protocol))
		for range 20 {
			ctx, cancel := context.WithCancel(soon(t))
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://svc/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			read := make(chan error)
			go func() {
				_, err := io.Copy(io.Discard, resp.Body)
				read <- err
			}()
			cancel()
			if err := resp.Body.Close(); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", proto, err)
			}
			if err := <-read; err == nil {
				t.Errorf("%s: reading a body without an end ends without an error", proto)
			}
		}
	}
}
