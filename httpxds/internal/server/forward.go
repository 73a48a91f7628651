package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
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
		body.finish(w, control)
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
	broken  bool      // Read or Close returned another error
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
	b.broken = b.broken || err != nil && !b.over && !errors.Is(err, http.ErrBodyReadAfterClose)
	b.changed.Broadcast()
	return n, err
}

// Close implements [io.Closer]. It reads the rest of the body up to maxUnread, as that of net/http.
func (b *forwardedBody) Close() error {
	if b.forbid() {
		return nil
	}
	err := b.source.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = b.broken || err != nil
	return err
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

// maxWait is how long the end of a response waits for the end of the request's body. It is that of net/http before it resets a
// connection.
const maxWait = 500 * time.Millisecond

// finish ends the body after the handler. It first sends the response: a client may wait for it before it sends the rest. net/http
// ends a response without a length only after that. Therefore, such a response does not wait long, and then the connection closes.
// It also closes after an invalid body, whose rest must not become the next request.
func (b *forwardedBody) finish(w http.ResponseWriter, control *http.ResponseController) {
	b.mu.Lock()
	over, closed := b.over, b.closed // a hijacked connection is closed
	b.mu.Unlock()
	if !closed {
		if !over {
			_ = control.Flush() // an error ends the connection
			if w.Header().Get("Content-Length") == "" {
				_ = control.SetReadDeadline(time.Now().Add(maxWait)) // without it, the response waits longer
				defer func() { _ = control.SetReadDeadline(time.Time{}) }()
			}
		}
		_ = b.Close() // broken has the error
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		closeAfter(w)
	}
}

// closeAfter makes net/http close the connection after the response, although its headers are sent. Only the reader of
// http.MaxBytesReader can do so.
func closeAfter(w http.ResponseWriter) {
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		w = outer.Unwrap()
	}
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1)) // the error says that it is too long
}
