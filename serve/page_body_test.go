package serve_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/serve"
)

// A countingBody counts the bytes that a handler reads.
type countingBody struct {
	strings.Reader
	read int
}

// Read implements [io.Reader].
func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += n
	return n, err
}

// The page does not read the body of a request: a form would be kept in memory, and its files on the disk.
func TestPageReadsNoBody(t *testing.T) {
	b := newBench(t, nil, serve.WithLimits(serve.Limits{}))
	body := &countingBody{Reader: *strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"node\"\r\n\r\nx\r\n--b--\r\n")}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	w := httptest.NewRecorder()
	b.server.StatusHandler().ServeHTTP(w, r)
	if w.Code != http.StatusOK || body.read > 0 {
		t.Errorf("status %d, and %d bytes of the body are read; want 200 and none", w.Code, body.read)
	}
}
