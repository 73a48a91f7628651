package httpxds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

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

// repeatable reports whether a request may be sent once more after an error, because the endpoint has not received it. The
// endpoint has not if nothing was written to a connection of HTTP/1.1 that was in use before, or if the server of an HTTP/2
// connection refused the request. As in http.Transport, an idempotent request is also sent again if a connection of HTTP/1.1
// that was in use before has closed without a byte of the response.
func repeatable(r *http.Request, l pool.Lease, wrote int64, err error) bool {
	switch {
	case errors.Is(err, errInsecure):
		return false
	case l.Multiplexed():
		return refused(err)
	default:
		return l.Reused() && (wrote == 0 || idempotent(r) && unanswered(err))
	}
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

// endedIdle reports whether the endpoint has ended a connection of HTTP/1.1 before net/http sent the request: by the end of TLS,
// or by a response to no request, such as one with the status 408. The network has not failed then.
func endedIdle(err error) bool {
	return unanswered(err) || strings.Contains(err.Error(), "readLoopPeekFailLocked: ")
}

// rewound returns the request with an unread body, or nil if its body cannot be read again. The attempt before it can read the
// body no more. The error is that of GetBody.
func (x *exchange) rewound(r *http.Request) (*http.Request, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	var body io.ReadCloser
	if a, ok := r.Body.(*attemptBody); ok {
		next := a.body.next()
		if next == nil {
			return nil, nil //nolint:nilnil // the body cannot be read again
		}
		body = next
	} else {
		if r.GetBody == nil {
			return nil, nil //nolint:nilnil // as above
		}
		if b, ok := r.Body.(*replayedBody); ok && !b.end(r.Context()) {
			return nil, nil //nolint:nilnil // as above
		}
		again, err := r.GetBody()
		if err != nil {
			return nil, fmt.Errorf("Request.GetBody: %w", err)
		}
		body = x.replayed(again, r)
	}
	out := r.WithContext(r.Context())
	out.Body = body
	return out, nil
}

// replayable returns the request whose body, if it has GetBody, can be taken away from the first attempt.
func (x *exchange) replayable(r *http.Request) *http.Request {
	if r.GetBody == nil || r.Body == nil || r.Body == http.NoBody || isInMemory(r.Body) {
		return r
	}
	out := x.edit(r)
	out.Body = x.replayed(r.Body, r)
	return out
}

// edit returns the copy of a request that the exchange may change.
func (x *exchange) edit(r *http.Request) *http.Request {
	if r != &x.limited {
		x.limited = *r
	}
	return &x.limited
}

// A replayedBody is the body of one attempt to send a request with GetBody. net/http may read the body after the attempt has
// ended, and GetBody may rewind the body instead of copying it, as that of Connect does. Such a late read would take bytes from
// the next attempt.
type replayedBody struct {
	source *checkedBody
	upload *upload
	begun  bool

	mu      sync.Mutex
	closed  bool
	reading bool
	idle    chan struct{} // closed at the end of the read; nil: nobody waits for it
}

// replayed returns a body of a request that can be taken away from the attempt that reads it.
func (x *exchange) replayed(body io.ReadCloser, r *http.Request) io.ReadCloser {
	if body == nil || body == http.NoBody || isInMemory(body) {
		return body
	}
	source, ok := body.(*checkedBody)
	if !ok {
		source = &checkedBody{source: body, length: lengthOf(r)}
	}
	return &replayedBody{source: source, upload: &x.upload}
}

// Read implements [io.Reader].
func (b *replayedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, errAttemptOver
	}
	b.reading = true
	first := !b.begun
	b.begun = true
	b.mu.Unlock()
	if first {
		b.upload.begin()
	}
	n, err := b.source.Read(p)
	if err != nil {
		b.upload.end()
	}
	b.mu.Lock()
	b.reading = false
	if b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
	b.mu.Unlock()
	return n, err
}

// Close implements [io.Closer].
func (b *replayedBody) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed {
		return nil
	}
	return b.source.Close()
}

// end closes the body and waits for a read of it. It returns false if the context ends before that.
func (b *replayedBody) end(ctx context.Context) bool {
	_ = b.Close() // the attempt has ended
	b.mu.Lock()
	if !b.reading {
		b.mu.Unlock()
		return true
	}
	b.idle = make(chan struct{})
	idle := b.idle
	b.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}
