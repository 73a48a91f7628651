package httpxds

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/httpxds/internal/pool"
)

// A streamError has the fields of the error of an HTTP/2 stream. errors.As fills it from the unexported type of net/http.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error implements error.
func (streamError) Error() string { return "" }

// refusedStream is the code REFUSED_STREAM (RFC 9113 section 7).
const refusedStream = 7

// refused reports whether the server of an HTTP/2 connection did not process a request with this error. net/http has no
// exported form of most of these errors.
func refused(err error) bool {
	if s := (streamError{}); errors.As(err, &s) && s.Code == refusedStream {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "http2: Transport received Server's graceful shutdown GOAWAY") ||
		strings.Contains(text, "http2: client conn not usable")
}

// again returns the request to send once more after an error, or nil if the endpoint may have received it. The endpoint has
// not if nothing was written to a connection of HTTP/1.1 that was in use before, or if the server of an HTTP/2 connection
// refused the request. As in http.Transport, an idempotent request is also sent again if a connection of HTTP/1.1 that was in
// use before has closed without a byte of the response.
func again(r *http.Request, l pool.Lease, wrote int64, err error) *http.Request {
	switch {
	case errors.Is(err, errInsecure):
		return nil
	case !l.Multiplexed() && l.Reused() && idempotent(r) && unanswered(err):
	case l.Multiplexed() && !refused(err):
		return nil
	case !l.Multiplexed() && (wrote > 0 || !l.Reused()):
		return nil
	}
	return rewound(r)
}

// idempotent reports whether sending a request twice has the effect of sending it once (RFC 9110 section 9.2.2), by the rules
// of http.Transport.
func idempotent(r *http.Request) bool {
	switch methodOf(r) {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return r.Header["Idempotency-Key"] != nil || r.Header["X-Idempotency-Key"] != nil
}

// unanswered reports whether a connection of HTTP/1.1 has ended before the first byte of a response. net/http has no exported
// form of these errors.
func unanswered(err error) bool {
	text := err.Error()
	return strings.Contains(text, "net/http: Transport failed to read from server: ") || strings.Contains(text, "http: server closed idle connection")
}

// rewound returns the request with an unread body, or nil if its body cannot be read again.
func rewound(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	if o, ok := r.Body.(*onceBody); ok && !o.touched.Load() {
		return r
	}
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	out := r.WithContext(r.Context())
	out.Body = body
	return out
}

// A onceBody is the body of a request without GetBody. Until it is read, the request can be sent again. Closing it before has
// an effect only when the request has a response.
type onceBody struct {
	body    io.ReadCloser
	touched atomic.Bool

	mu     sync.Mutex
	final  bool // the request is not sent again
	closed bool
	ended  func() // called at the end of the body; nil: nothing
}

// Read implements [io.Reader].
func (b *onceBody) Read(p []byte) (int, error) {
	b.touched.Store(true)
	n, err := b.body.Read(p)
	if err != nil && b.ended != nil {
		b.ended()
		b.ended = nil
	}
	return n, err
}

// Close implements [io.Closer].
func (b *onceBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.final || b.touched.Load() {
		return b.body.Close()
	}
	return nil
}

// commit says that the request is not sent again.
func (b *onceBody) commit() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.final = true; b.closed {
		_ = b.body.Close() // the request has a response
	}
}

// replayable returns the request to send. If its body cannot be read twice, it has a body that records whether it was read.
func replayable(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody || r.GetBody != nil {
		return r
	}
	out := r.WithContext(r.Context())
	out.Body = &onceBody{body: r.Body}
	return out
}
