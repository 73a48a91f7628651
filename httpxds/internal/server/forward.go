package server

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/httpxds/internal/writer"
)

// forwarding returns the handler of the requests that next forwards. It lets next read the body of an HTTP/1.1 request after its
// response has begun, as HTTP/2 always allows. A proxy needs that: otherwise net/http closes the body while the proxy still sends
// it, and the endpoint's connection breaks with the response. In turn, the handler ends the body: net/http expects that of
// handlers that it lets do so, and otherwise panics in the next request of the connection.
func forwarding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		if control.EnableFullDuplex() != nil { // the writer of a filter does not support it
			next.ServeHTTP(w, r)
			return
		}
		body := newForwardedBody(r.Body, r.ContentLength)
		defer body.forbid()
		forwarded := *r
		forwarded.Body = body
		out, commit := writer.New(w, writer.Hooks{Headers: body.announce, Hijack: func() { body.leave(control) }})
		next.ServeHTTP(out, &forwarded)
		commit()
		body.finish(control)
	})
}

// maxUnread is the length of an unread body that net/http reads to keep a connection.
const maxUnread = 256 << 10

// A forwardedBody is the body of a request of HTTP/1.1 for the time of its handler. A proxy may read it from another goroutine,
// also after the handler. net/http then panics, or the reader takes bytes of the next request or of an upgraded connection.
type forwardedBody struct {
	source io.ReadCloser
	length int64 // -1: unknown

	mu      sync.Mutex
	changed sync.Cond // of the fields below
	reads   int       // in progress
	read    int64     // bytes
	over    bool      // Read returned the end
	closed  bool
}

func newForwardedBody(source io.ReadCloser, length int64) *forwardedBody {
	b := &forwardedBody{source: source, length: length}
	b.changed.L = &b.mu
	return b
}

// Read implements [io.Reader].
func (b *forwardedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	b.reads++
	b.mu.Unlock()
	n, err := b.source.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads--
	b.read += int64(n)
	b.over = b.over || errors.Is(err, io.EOF)
	b.changed.Broadcast()
	return n, err
}

// Close implements [io.Closer]. It reads the rest of the body up to maxUnread, as that of net/http.
func (b *forwardedBody) Close() error {
	if b.forbid() {
		return nil
	}
	return b.source.Close()
}

// forbid makes further reads fail. It returns true if they failed before.
func (b *forwardedBody) forbid() (before bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, b.closed = b.closed, true
	return before
}

// announce asks the client to use another connection if net/http will not read the rest of the body.
func (b *forwardedBody) announce(h http.Header) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.length - b.read; !b.over && left > maxUnread && (b.closed || b.read == 0) {
		h.Set("Connection", "close")
	}
}

// leave ends the reads before the connection of the request is hijacked.
func (b *forwardedBody) leave(control *http.ResponseController) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.reads > 0 {
		_ = control.SetReadDeadline(time.Unix(1, 0)) // hijacking resets it
	}
	for b.reads > 0 {
		b.changed.Wait()
	}
}

// finish ends the body after the handler. It first sends the response: a client may wait for it before it sends the rest.
func (b *forwardedBody) finish(control *http.ResponseController) {
	b.mu.Lock()
	over, closed := b.over, b.closed // a hijacked connection is closed
	b.mu.Unlock()
	if closed {
		return
	}
	if !over {
		_ = control.Flush() // an error ends the connection
	}
	_ = b.Close() // as above
}
