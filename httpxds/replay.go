package httpxds

import (
	"errors"
	"io"
	"net/http"
	"strings"

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

// rewound returns the request with an unread body, or nil if its body cannot be read again. The attempt before it can read the
// body no more if that is streamed.
func rewound(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	var body io.ReadCloser
	if a, ok := r.Body.(*attemptBody); ok {
		next := a.body.next()
		if next == nil {
			return nil
		}
		body = next
	} else {
		var err error
		if r.GetBody == nil {
			return nil
		}
		if body, err = r.GetBody(); err != nil {
			return nil
		}
	}
	out := r.WithContext(r.Context())
	out.Body = body
	return out
}
