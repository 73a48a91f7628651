// Package writer changes the headers of responses when they are sent.
package writer

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// A Response changes the headers when they are sent. It has the optional methods of the writers of net/http.
type Response struct {
	http.ResponseWriter
	change func(http.Header)
	sent   bool
}

// New returns a Response for a writer of net/http.
func New(w http.ResponseWriter, change func(http.Header)) *Response {
	return &Response{ResponseWriter: w, change: change}
}

var (
	_ http.Flusher  = (*Response)(nil)
	_ http.Hijacker = (*Response)(nil)
	_ io.ReaderFrom = (*Response)(nil)
)

// Commit changes the headers once. It is called after the handler, which may have written nothing.
func (w *Response) Commit() {
	if !w.sent {
		w.sent = true
		w.change(w.Header())
	}
}

// WriteHeader implements [http.ResponseWriter]. Informational responses stay unchanged.
func (w *Response) WriteHeader(code int) {
	if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		w.Commit()
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements [http.ResponseWriter].
func (w *Response) Write(b []byte) (int, error) {
	w.Commit()
	return w.ResponseWriter.Write(b)
}

// ReadFrom implements [io.ReaderFrom].
func (w *Response) ReadFrom(r io.Reader) (int64, error) {
	w.Commit()
	return io.Copy(w.ResponseWriter, r)
}

// Flush implements [http.Flusher].
func (w *Response) Flush() { _ = w.FlushError() } // the next Write returns the error

// FlushError is the Flush of [http.ResponseController].
func (w *Response) FlushError() error {
	w.Commit()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements [http.Hijacker]. It returns an error for HTTP/2.
func (w *Response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap returns the writer of the server, for [http.ResponseController].
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
