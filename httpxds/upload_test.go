package httpxds_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// A slowReader returns one byte at a time, after a pause.
type slowReader struct{ left int }

// Read implements [io.Reader].
func (r *slowReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	<-time.NewTimer(50 * time.Millisecond).C
	r.left--
	p[0] = 'x'
	return 1, nil
}

// TestSlowUpload expects the time limits of a route and of its attempts to start at the end of the request, whether it announces
// its length, and whether its body can be read again.
func TestSlowUpload(t *testing.T) {
	const size = 20 // longer than the limits
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, err)
	})
	for protocol, p := range eachProtocol {
		for limits, settings := range map[string]string{
			"route":   `timeout { nanos: 500000000 }`,
			"attempt": `timeout { } retry_policy { retry_on: "5xx" num_retries { value: 1 } per_try_timeout { nanos: 500000000 } }`,
		} {
			rt := single(t, addr, settings, httpxds.WithProtocol(p))
			proxy := httptest.NewServer(proxyTo(rt))
			t.Cleanup(proxy.Close)
			for name, tt := range map[string]struct {
				length int64
				rewind bool
				rt     http.RoundTripper
				url    string
			}{
				"known length": {size, false, rt, "http://svc/"}, "unknown length": {-1, false, rt, "http://svc/"},
				"GetBody": {size, true, rt, "http://svc/"}, "reverse proxy": {size, false, http.DefaultTransport, proxy.URL},
			} {
				t.Run(protocol+" "+limits+" "+name, func(t *testing.T) {
					t.Parallel()
					r, err := http.NewRequestWithContext(soon(t), http.MethodPost, tt.url, &slowReader{size})
					check(t, err)
					if r.ContentLength = tt.length; tt.rewind {
						r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(&slowReader{size}), nil }
					}
					resp, err := tt.rt.RoundTrip(r)
					check(t, err)
					defer resp.Body.Close()
					if body, err := io.ReadAll(resp.Body); string(body) != "20 <nil>" || err != nil {
						t.Errorf("%s %q, %v; want the size of the body", resp.Status, body, err)
					}
				})
			}
		}
	}
}

// TestSlowUploadFromMemory expects the same for a body in memory that the endpoint reads slowly.
func TestSlowUploadFromMemory(t *testing.T) {
	const size = 8 << 20 // more than the buffers of a connection
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-time.NewTimer(time.Second).C // longer than the limits
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, err)
	})
	for name, p := range eachProtocol {
		for _, settings := range []string{
			`timeout { nanos: 500000000 }`,
			`timeout { } retry_policy { retry_on: "5xx" num_retries { value: 1 } per_try_timeout { nanos: 500000000 } }`,
		} {
			body, err := post(t, single(t, addr, settings, httpxds.WithProtocol(p)), bytes.NewReader(make([]byte, size)))
			if body != fmt.Sprintf("%d <nil>", size) || err != nil {
				t.Errorf("%s, %s: %q, %v; want the size of the body", name, settings, body, err)
			}
		}
	}
}

// TestLimitsWithoutAnUpload expects the time limit of the route to end a request with a body that waits for its response, or for
// a connection.
func TestLimitsWithoutAnUpload(t *testing.T) {
	g := newGate()
	w := newWorld(t)
	w.cluster("c", `circuit_breakers { thresholds { max_connections { value: 1 } } }`, serve(t, g.ServeHTTP))
	t.Cleanup(func() { close(g.open) }) // before the server closes
	w.routes(`routes { match { prefix: "/hold" } route { cluster: "c" timeout { } } } routes { match { prefix: "" } route { cluster: "c" timeout { nanos: 200000000 } } }`)
	rt := w.transport()
	expect := func() {
		t.Helper()
		_, err := post(t, rt, once{&slowReader{1}})
		if e := (*httpxds.Error)(nil); !errors.As(err, &e) || e.Reason != httpxds.Timeout {
			t.Errorf("%v; want the time limit of the route", err)
		}
	}
	expect()
	<-g.entered
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() {
		defer close(held)
		_, _ = get(t, rt, "http://svc/hold", func(r *http.Request) { *r = *r.WithContext(ctx) }) //nolint:contextcheck // set above
	}()
	<-g.entered // it has the only connection
	expect()
	cancel()
	<-held
}

// TestSlowUploadAfterAFailure expects the time limit of the route to stop for the upload of a later attempt, too.
func TestSlowUploadAfterAFailure(t *testing.T) {
	const size = 8 << 20 // more than the buffers of a connection
	for name, p := range eachProtocol {
		var requests atomic.Int64
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			<-time.NewTimer(time.Second).C // longer than the limit
			n, err := io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprint(w, n, err)
		})
		rt := single(t, addr, `timeout { nanos: 500000000 } retry_policy { retry_on: "5xx,reset" num_retries { value: 1 } retry_back_off { base_interval { nanos: 1000000 } } }`,
			httpxds.WithProtocol(p))
		if body, err := post(t, rt, bytes.NewReader(make([]byte, size))); body != fmt.Sprintf("%d <nil>", size) || err != nil {
			t.Errorf("%s: %q, %v after %d requests; want the size of the body", name, body, err, requests.Load())
		}
	}
}

// An endless body tells that it is read.
type endless struct{ begun chan<- struct{} }

// Read implements [io.Reader].
func (r endless) Read(p []byte) (int, error) {
	select {
	case r.begun <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TestLimitBetweenAttempts expects the time limit of the route to count again after an attempt that failed during its upload.
func TestLimitBetweenAttempts(t *testing.T) {
	begun := make(chan struct{}, 1)
	addr := serve(t, func(http.ResponseWriter, *http.Request) {
		<-begun
		panic(http.ErrAbortHandler)
	})
	for name, p := range eachProtocol {
		for _, rewind := range []bool{false, true} {
			rt := single(t, addr, `timeout { nanos: 300000000 } retry_policy { retry_on: "5xx,reset" num_retries { value: 1 }
				retry_back_off { base_interval { seconds: 36000 } max_interval { seconds: 36000 } } }`, httpxds.WithProtocol(p), httpxds.WithRetryBuffer(1<<30))
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", endless{begun})
			check(t, err)
			if rewind {
				r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(endless{begun}), nil }
			}
			_, err = rt.RoundTrip(r)
			if e := (*httpxds.Error)(nil); !errors.As(err, &e) || e.Reason != httpxds.Timeout {
				t.Errorf("%s, GetBody %t: %v; want the time limit of the route", name, rewind, err)
			}
			select {
			case <-begun: // of a read after the abort
			default:
			}
		}
	}
}
