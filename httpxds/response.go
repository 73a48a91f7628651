package httpxds

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/httpxds/internal/netconn"
	"github.com/xdsforge/xdsforge/httpxds/internal/pool"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
)

// follow makes the attempt end with the body of its response.
func (x *exchange) follow(ctx context.Context, resp *http.Response, l pool.Lease) {
	x.ctx, x.done, x.load, x.failure, x.body = ctx, l.Pick.Done, loadOf(resp.Header), nil, resp.Body
	if resp.StatusCode >= http.StatusInternalServerError {
		x.failure = &outlier.FailureError{Status: resp.StatusCode}
	}
	if body, ok := resp.Body.(io.ReadWriteCloser); ok { // of an upgraded connection
		resp.Body = &stream{x, body}
	} else {
		resp.Body = x
	}
	// Such a request ends with its context. The Close of a decompressed body frees memory, too.
	x.atOnce = x.atOnce && l.Multiplexed() && !resp.Uncompressed
}

// The limits of the body that is read before a retry.
const (
	maxDiscard     = 4096 // bytes
	maxDiscardTime = 100 * time.Millisecond
)

// discard ends an attempt whose response is not wanted. It reads the rest of a short body of HTTP/1.1, so that the connection
// can be used again. A connection of HTTP/2 can be used in any case.
func (x *exchange) discard(resp *http.Response) {
	if body := x.body; resp.ProtoMajor == 1 && resp.ContentLength <= maxDiscard {
		limit := time.AfterFunc(maxDiscardTime, func() { _ = body.Close() })
		_, _ = io.CopyN(io.Discard, body, maxDiscard) // the next attempt has its own errors
		limit.Stop()
	}
	_ = x.body.Close()
	x.finish()
}

// finish ends an attempt with a response.
func (x *exchange) finish() {
	x.done(balancer.DoneInfo{Err: x.failure, BytesSent: true, BytesReceived: true, ServerLoad: x.load})
}

// end ends the request once. A failure replaces that of the attempt.
func (x *exchange) end(failure error) {
	if x.over.Swap(true) {
		return
	}
	if failure != nil {
		x.failure = failure
	}
	x.finish()
	x.stop()
	x.to.Release()
}

// Read implements [io.Reader] for the body of the response. The request ends when the body was read.
func (x *exchange) Read(p []byte) (int, error) {
	if x.shut.Load() {
		_ = x.body.Close() // so that Read has the error of a closed body
	}
	n, err := x.body.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		x.end(nil)
		x.whole.Store(x.atOnce)
	default:
		failure := failureOf(x.ctx, err)
		failure.Ignored = failure.Ignored || x.bodyFailure() != nil
		if errors.Is(context.Cause(x.ctx), errTimeout) {
			err = x.fail(Timeout, "", errTimeout)
		}
		x.end(failure)
	}
	return n, err
}

// Close implements [io.Closer] for the body of the response. It may run during Read. It first cancels the request: closing the body
// of an HTTP/2 response otherwise waits until the body of the request was read. A request that was canceled at the end of its
// response ends by itself. Closing the response as well would start a goroutine that closes the body of the request.
func (x *exchange) Close() error {
	x.cancelAll()
	if x.whole.Load() {
		x.shut.Store(true)
		return nil
	}
	err := x.body.Close()
	x.end(nil)
	return err
}

// A stream is the body of an upgraded connection, which can be written (RFC 9110 section 7.8).
type stream struct {
	*exchange
	io.Writer
}

// CloseWrite ends the direction to the endpoint, as the body of http.Transport does.
func (s *stream) CloseWrite() error { return netconn.CloseWrite(s.Writer) }
