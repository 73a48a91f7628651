package httpxds

import (
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/httpxds/internal/pool"
)

// follow makes the request end with the body of its response.
func (x *exchange) follow(resp *http.Response, l pool.Lease) {
	x.done = l.Pick.Done
	if resp.StatusCode >= http.StatusInternalServerError {
		x.failure = errors.New(resp.Status)
	}
	x.body = resp.Body
	switch body := resp.Body.(type) {
	case nil:
		x.end()
	case io.ReadWriteCloser: // of an upgraded connection
		resp.Body = &stream{x, body}
	default:
		if body == http.NoBody {
			x.end()
			return
		}
		resp.Body = x
	}
}

// end ends the request once.
func (x *exchange) end() {
	if x.over.Swap(true) {
		return
	}
	x.done(balancer.DoneInfo{Err: x.failure, BytesSent: true, BytesReceived: true})
	x.to.Release()
}

// Read implements [io.Reader] for the body of the response. The request ends when the body was read.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	if err != nil {
		x.end()
	}
	return n, err
}

// Close implements [io.Closer] for the body of the response.
func (x *exchange) Close() error {
	err := x.body.Close()
	x.end()
	return err
}

// A stream is the body of an upgraded connection, which can be written (RFC 9110 section 7.8).
type stream struct {
	*exchange
	io.Writer
}
