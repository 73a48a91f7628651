package httpxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

const retry5xx = `retry_policy { retry_on: "5xx" num_retries { value: 3 } retry_back_off { base_interval { nanos: 1000000 } } }`

// TestRetryOfStreamedBody expects a request without GetBody to be retried exactly if its body is not longer than the limits of
// the Transport and of the route.
func TestRetryOfStreamedBody(t *testing.T) {
	const limit = 100_000
	for protocol, proto := range protocols {
		for _, tt := range []struct {
			name, settings, body string
			hosts                string
			limit                int64
			attempts             int64
		}{
			{"a short body", retry5xx, "text", "", limit, 3},
			{"a body of the limit", retry5xx, strings.Repeat("x", limit), "", limit, 3},
			{"a longer body", retry5xx, strings.Repeat("x", limit+1), "", limit, 1},
			{"no bytes to keep", retry5xx, "text", "", 0, 1},
			{"no retry policy", "", "text", "", limit, 1},
			{"a limit of the route", retry5xx + ` } request_body_buffer_limit { value: 3 `, "text", "", limit, 1},
			{"a higher limit of the route", retry5xx + ` } request_body_buffer_limit { value: 1000000 `, strings.Repeat("x", limit+1), "", limit, 1},
			{"a deprecated limit of the virtual host", retry5xx, "text", `per_request_buffer_limit_bytes { value: 3 }`, limit, 1},
			{"a limit of the route instead of the virtual host", retry5xx + ` } per_request_buffer_limit_bytes { value: 4 `, "text", `request_body_buffer_limit { value: 3 }`, limit, 3},
		} {
			for _, known := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s %t", proto, tt.name, known), func(t *testing.T) {
					var attempts atomic.Int64
					addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
						b, err := io.ReadAll(r.Body)
						if attempts.Add(1) < 3 {
							w.WriteHeader(http.StatusServiceUnavailable)
						}
						_, _ = fmt.Fprint(w, string(b) == tt.body, err)
					})
					w := newWorld(t)
					w.cluster("c", "", addr)
					w.hosts(`virtual_hosts { name: "h" domains: "svc" %s routes { match { prefix: "" } route { cluster: "c" %s } } }`, tt.hosts, tt.settings)
					rt := w.transport(httpxds.WithProtocol(protocol), httpxds.WithRetryBuffer(tt.limit))
					r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", once{iotest.HalfReader(strings.NewReader(tt.body))})
					if err != nil {
						t.Fatal(err)
					}
					if known {
						r.ContentLength = int64(len(tt.body))
					}
					resp, err := rt.RoundTrip(r)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					if b, err := io.ReadAll(resp.Body); string(b) != "true <nil>" || err != nil || attempts.Load() != tt.attempts || (resp.StatusCode == http.StatusOK) != (tt.attempts == 3) {
						t.Errorf("%q, %v with the status %d after %d attempts; want the whole body, after %d", b, err, resp.StatusCode, attempts.Load(), tt.attempts)
					}
				})
			}
		}
	}
}

// TestRetryWhileTheBodyIsSent expects a request to be retried whose body has no end yet. The bytes that the failed attempt has
// read, or waits for, are those of the next one.
func TestRetryWhileTheBodyIsSent(t *testing.T) {
	for protocol, proto := range protocols {
		for _, failure := range []string{"a status", "a reset"} {
			t.Run(proto+" "+failure, func(t *testing.T) {
				var attempts atomic.Int64
				second := make(chan struct{})
				addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_ = http.NewResponseController(w).EnableFullDuplex() // otherwise the response waits for the body
					_, _ = io.ReadFull(r.Body, make([]byte, 5))
					switch {
					case attempts.Add(1) > 1:
						close(second)
						b, err := io.ReadAll(r.Body)
						_, _ = fmt.Fprint(w, string(b), err)
					case failure == "a status":
						w.WriteHeader(http.StatusServiceUnavailable)
					default:
						abort(w)
					}
				})
				rt := single(t, addr, "timeout {} "+retry5xx, httpxds.WithProtocol(protocol))
				body, w := io.Pipe()
				ended, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					_, _ = io.WriteString(w, "first")
					select {
					case <-second: // the first attempt has ended, and had to wait for more
					case <-ended:
					}
					_, _ = io.WriteString(w, " second")
					_ = w.Close()
				}()
				if b, err := post(t, rt, once{body}); b != " second<nil>" || err != nil {
					t.Errorf("%q, %v; want the rest of the body in the second attempt", b, err)
				}
				close(ended)
				<-done
			})
		}
	}
}

// A lockedBody blocks its reader, and Close until then, as the body of a request of net/http's server does.
type lockedBody struct {
	mu    sync.Mutex
	first io.Reader
	gate  chan struct{}
}

func (b *lockedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, err := b.first.Read(p); err == nil {
		return n, nil
	}
	<-b.gate
	return 0, io.ErrUnexpectedEOF
}

func (b *lockedBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return nil
}

// abort closes the connection, or resets the stream of HTTP/2, although the request has no end.
func abort(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
		return
	}
	panic(http.ErrAbortHandler)
}

// TestErrorWhileTheBodyBlocks expects a request whose retries have failed, or whose context has ended, to return although nothing
// ends the read of its body.
func TestErrorWhileTheBodyBlocks(t *testing.T) {
	arrived := make(chan struct{}, 2)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 5))
		if r.URL.Path != "/silent" {
			abort(w)
			return
		}
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body) // it ends with the connection
	})
	for protocol, proto := range protocols {
		for _, path := range []string{"/", "/silent"} {
			rt := single(t, addr, "timeout {} "+retry5xx, httpxds.WithProtocol(protocol))
			ctx, cancel := context.WithCancel(soon(t))
			body := &lockedBody{first: strings.NewReader("first"), gate: make(chan struct{})}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://svc"+path, body)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				resp, err := rt.RoundTrip(r)
				if err == nil {
					_ = resp.Body.Close()
				}
				ended <- err
			}()
			if path == "/silent" {
				<-arrived
				cancel()
			}
			timer := time.NewTimer(30 * time.Second)
			select {
			case err := <-ended:
				if e := (*httpxds.Error)(nil); path == "/" && (!errors.As(err, &e) || e.Reason != httpxds.Reset) || path == "/silent" && !errors.Is(err, context.Canceled) {
					t.Errorf("%s %s: %v; want a reset, or the end of the context", proto, path, err)
				}
				if proto == "HTTP/1.1" && path == "/" && !strings.Contains(err.Error(), "the connection closed before the end of the request") {
					t.Errorf("%v; want an error that names the end of the connection", err)
				}
			case <-timer.C:
				t.Errorf("%s %s: the request waits for its body", proto, path)
			}
			timer.Stop()
			cancel()
			close(body.gate)
		}
	}
}

// TestFailedBodyIsNotRetried expects one attempt if the program's own body fails.
func TestFailedBodyIsNotRetried(t *testing.T) {
	for protocol, proto := range protocols {
		var attempts atomic.Int64
		addr := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			attempts.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		})
		rt := single(t, addr, retry5xx, httpxds.WithProtocol(protocol))
		broken := errors.New("broken")
		if _, err := post(t, rt, once{io.MultiReader(strings.NewReader("text"), iotest.ErrReader(broken))}); err == nil || attempts.Load() > 1 {
			t.Errorf("%s: %v after %d attempts; want an error of the only one", proto, err, attempts.Load())
		}
	}
}

// TestRedirectsOfBodies expects http.Client to send a body with GetBody to the URL of a redirect with the status 307 or 308, and
// to return the redirect of another body: a RoundTripper cannot add GetBody to the request of the program.
func TestRedirectsOfBodies(t *testing.T) {
	addr := serve(t, read)
	for status, name := range map[int]string{307: "TEMPORARY_REDIRECT", 308: "PERMANENT_REDIRECT"} {
		w := newWorld(t)
		w.cluster("c", "", addr)
		w.routes(`routes { match { prefix: "/old" } redirect { path_redirect: "/new" response_code: %s } } %s`, name, to("c"))
		client := &http.Client{Transport: w.transport()}
		for _, tt := range []struct {
			body io.Reader
			code int
			want string
		}{{strings.NewReader("text"), 200, "text"}, {once{strings.NewReader("text")}, status, ""}} {
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/old", tt.body)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(b) != tt.want || resp.StatusCode != tt.code || err != nil {
				t.Errorf("a %T gets %d %q, %v; want %d %q", tt.body, resp.StatusCode, b, err, tt.code, tt.want)
			}
		}
	}
}
