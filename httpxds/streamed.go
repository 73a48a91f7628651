package httpxds

import (
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
)

// defaultRetryBuffer is the default of [WithRetryBuffer], which is that of Envoy's per_connection_buffer_limit_bytes.
const defaultRetryBuffer = 1 << 20

// minRead is the size of a read of a source whose bytes are kept. A smaller buffer of the reader would cost a goroutine for a
// few bytes.
const minRead = 4096

// A streamedBody is the body of a request without GetBody. It keeps the bytes that it has read from its source, up to a limit,
// so that the next attempt can send them again. Each attempt has an attemptBody. Only the current one can be read.
//
// While bytes are kept, a goroutine of its own reads the source. An attempt that has ended therefore stops at once, even if
// the source blocks, and the next attempt gets the bytes of that read.
type streamedBody struct {
	source *checkedBody
	limit  int // of the bytes that are kept. 0: none
	upload *upload
	first  attemptBody

	mu      sync.Mutex
	changed sync.Cond // of any field below
	current *attemptBody
	kept    []byte // the start of the source, or its unread part if final
	reading bool   // a goroutine reads the source
	err     error  // of the source, after kept
	final   bool   // there is no further attempt
}

// An attemptBody is the body of one attempt. Its fields are guarded by body.mu.
type attemptBody struct {
	body   *streamedBody
	read   int // of kept
	closed bool
	lost   bool // the connection has closed
	begun  bool // Read was called
}

var (
	// errAttemptOver is the error of the reader of an attempt that has ended.
	errAttemptOver = errors.New("httpxds: the attempt has ended")
	// errConnectionClosed is that of an attempt whose connection has closed. net/http returns it as the error of the request.
	errConnectionClosed = errors.New("the connection closed before the end of the request")
)

// streamed returns the request to send. If its body cannot be read twice, it has the body of a first attempt, and the body
// keeps the bytes for which the route may need it.
func (x *exchange) streamed(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody || r.GetBody != nil {
		return r
	}
	b := &streamedBody{source: checkedBodyOf(r), limit: x.retryBuffer(r), upload: &x.upload}
	b.changed.L = &b.mu
	b.first.body, b.current = b, &b.first
	x.sent = b
	out := x.edit(r)
	out.Body = &b.first
	return out
}

// retryBuffer returns the limit of the bytes of a request that are kept for retries.
func (x *exchange) retryBuffer(r *http.Request) int {
	p := x.plan.Retry
	if p == nil || p.Max == 0 || p.On == 0 && p.GRPC == 0 {
		return 0
	}
	limit := min(uint64(x.transport.settings.retryBuffer), x.plan.RetryBuffer, math.MaxInt-1) //nolint:gosec // not negative
	if r.ContentLength > 0 && uint64(r.ContentLength) > limit {
		return 0
	}
	return int(limit)
}

// next makes another attempt the current one, and returns its body. It returns nil if the body cannot be sent again.
func (b *streamedBody) next() *attemptBody {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.final || b.err != nil && b.err != io.EOF { //nolint:errorlint // net/http compares, too
		return nil
	}
	b.current = &attemptBody{body: b}
	b.changed.Broadcast()
	return b.current
}

// commit says that the request is not sent again.
func (b *streamedBody) commit() {
	b.mu.Lock()
	b.final = true
	closed := b.current.closed
	b.free()
	b.mu.Unlock()
	if closed {
		b.close()
	}
}

// abandon says that the request has an error. The last attempt can read the body no more.
func (b *streamedBody) abandon() {
	b.mu.Lock()
	b.current, b.final = nil, true
	b.changed.Broadcast()
	b.mu.Unlock()
	b.close()
}

// free frees the kept bytes that no attempt reads any more. The caller holds mu.
func (b *streamedBody) free() {
	if a := b.current; a != nil && b.final && !b.reading && (a.closed || a.read == len(b.kept)) {
		b.kept, a.read = nil, 0
	}
}

// close closes the source. It does not wait for a read: some sources block Close until then.
func (b *streamedBody) close() {
	b.mu.Lock()
	reading := b.reading
	b.mu.Unlock()
	if reading {
		go func() { _ = b.source.Close() }() // the read has its own error
		return
	}
	_ = b.source.Close() // the request has a response or another error
}

// Read implements [io.Reader].
func (a *attemptBody) Read(p []byte) (int, error) {
	b := a.body
	b.mu.Lock()
	if !a.begun && !a.closed && a == b.current { // a late read of an earlier attempt must not hold the limits
		a.begun = true
		b.upload.begin()
	}
	for {
		switch {
		case a.lost:
			b.mu.Unlock()
			return 0, errConnectionClosed
		case a.closed || a != b.current:
			b.mu.Unlock()
			return 0, errAttemptOver
		case a.read < len(b.kept):
			n := copy(p, b.kept[a.read:])
			a.read += n
			b.free()
			b.mu.Unlock()
			return n, nil
		case b.err != nil:
			b.mu.Unlock()
			return 0, b.err
		case b.reading:
			b.changed.Wait()
		case b.final || b.limit == 0:
			b.final, b.kept, a.read = true, nil, 0
			b.reading = true
			b.mu.Unlock()
			n, err := b.source.Read(p)
			b.finish(0, err)
			return n, err
		default:
			b.reading = true
			go b.fill(b.room(len(p)))
		}
	}
}

// room returns the place for the next bytes of the source: one more than the limit, to find out whether there are more. The
// caller holds mu.
func (b *streamedBody) room(size int) []byte {
	size = min(max(size, minRead), b.limit+1-len(b.kept))
	if missing := len(b.kept) + size - cap(b.kept); missing > 0 {
		grown := make([]byte, len(b.kept), min(max(2*cap(b.kept), len(b.kept)+size), b.limit+1))
		copy(grown, b.kept)
		b.kept = grown
	}
	return b.kept[len(b.kept) : len(b.kept)+size]
}

// fill reads bytes that are kept.
func (b *streamedBody) fill(part []byte) {
	n, err := b.source.Read(part)
	b.finish(n, err)
}

// finish ends a read of the source, and keeps n bytes.
func (b *streamedBody) finish(n int, err error) {
	b.mu.Lock()
	b.reading, b.err = false, err
	b.kept = b.kept[:len(b.kept)+n]
	b.final = b.final || len(b.kept) > b.limit
	b.free()
	b.changed.Broadcast()
	b.mu.Unlock()
	if err != nil {
		b.upload.end()
	}
}

// end stops the reader of an attempt whose connection has closed. It leaves the source open: net/http calls it under locks.
func (a *attemptBody) end() {
	b := a.body
	b.mu.Lock()
	defer b.mu.Unlock()
	a.closed, a.lost = true, true
	b.changed.Broadcast()
}

// Close implements [io.Closer]. Before the last attempt, the source stays open.
func (a *attemptBody) Close() error {
	b := a.body
	b.mu.Lock()
	a.closed = true
	last := b.final && a == b.current
	b.free()
	b.changed.Broadcast()
	b.mu.Unlock()
	if last {
		b.close()
	}
	return nil
}
