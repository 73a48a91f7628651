package httpxds

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
)

// A checkedBody is the body of a request, as the program made it. It finds the errors of the program: a Read that fails before
// Close, and a length that differs from the one that the request announces. It closes the body once.
type checkedBody struct {
	source io.ReadCloser
	length int64 // that the request announces; -1: none
	read   int64
	failed atomic.Pointer[error]
	closed atomic.Bool
}

// checkedBodyOf returns the body of a request as a checkedBody.
func checkedBodyOf(r *http.Request) *checkedBody {
	if b, ok := r.Body.(*checkedBody); ok {
		return b
	}
	return &checkedBody{source: r.Body, length: lengthOf(r)}
}

// Read implements [io.Reader].
func (b *checkedBody) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	b.read += int64(n)
	if b.length >= 0 {
		if extra := b.read - b.length; extra > 0 {
			n -= int(min(extra, int64(n)))
			err = fmt.Errorf("Request.ContentLength = %d; must be the length of the body, which is greater", b.length)
		} else if extra < 0 && err == io.EOF { //nolint:errorlint // net/http compares, too
			err = fmt.Errorf("Request.ContentLength = %d; must be the length of the body, which is %d", b.length, b.read)
		}
	}
	if err != nil && err != io.EOF && !b.closed.Load() { //nolint:errorlint // as above
		b.failed.Store(&err)
	}
	return n, err
}

// Close implements [io.Closer]. The error of the body has no effect on the request, as in HTTP/2.
func (b *checkedBody) Close() error {
	if !b.closed.Swap(true) {
		_ = b.source.Close()
	}
	return nil
}

// failure returns the error of the program, or nil.
func (b *checkedBody) failure() error {
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// nopClosers are the types of the bodies that http.NewRequest makes. Their GetBody makes copies. net/http has a faster way for
// them.
var nopClosers = [...]reflect.Type{reflect.TypeOf(io.NopCloser(nil)), reflect.TypeOf(io.NopCloser(new(strings.Reader)))}

// sizeInMemory returns the size of a body that http.NewRequest made of bytes or of a string.
func sizeInMemory(body io.ReadCloser) (int64, bool) {
	if t := reflect.TypeOf(body); t != nopClosers[0] && t != nopClosers[1] {
		return 0, false
	}
	switch r := reflect.ValueOf(body).Field(0).Interface().(type) {
	case *bytes.Reader:
		return int64(r.Len()), true
	case *strings.Reader:
		return int64(r.Len()), true
	case *bytes.Buffer:
		return int64(r.Len()), true
	default:
		return 0, false
	}
}

// maxAtOnce is the size of a body in memory that a connection takes at once, so that the request ends when it starts.
const maxAtOnce = 64 << 10

// isInMemory reports whether http.NewRequest made a body of bytes or of a string.
func isInMemory(body io.ReadCloser) bool {
	_, ok := sizeInMemory(body)
	return ok
}

// isSentAtOnce reports whether a request has no body, or one that a connection takes at once.
func isSentAtOnce(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	size, ok := sizeInMemory(r.Body)
	return ok && size <= maxAtOnce
}
