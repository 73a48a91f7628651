// Package writer wraps the response writers of net/http. A wrapper has each optional interface that the wrapped writer has.
package writer

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"
)

// Hooks are called while a handler responds.
type Hooks struct {
	// Headers is called once with the headers of the response, when they are sent or when commit is called. Informational
	// responses stay unchanged.
	Headers func(http.Header)
	// Hijack is called before the handler gets the connection. Nil: nothing is called.
	Hijack func()
}

// The optional interfaces of the writers of net/http. Only those of HTTP/1.1 have a connection to hijack.
type (
	common interface {
		http.Flusher
		http.CloseNotifier //nolint:staticcheck // handlers still use it
		io.StringWriter
		FlushError() error
		SetReadDeadline(time.Time) error
		SetWriteDeadline(time.Time) error
		EnableFullDuplex() error
	}
	http1 interface {
		common
		http.Hijacker
		io.ReaderFrom
	}
	http2 interface {
		common
		http.Pusher
	}
)

// New wraps a writer. It returns the function to call after the handler, which may have written nothing.
func New(w http.ResponseWriter, h Hooks) (out http.ResponseWriter, commit func()) {
	r := &response{ResponseWriter: w, hooks: h}
	switch w := w.(type) {
	case http1:
		return &response1{r, w}, r.commit
	case http2:
		return &response2{r, w, w}, r.commit
	default: // of a filter, which may have Unwrap
		return &responseOf{r}, r.commit
	}
}

var (
	_ http1 = (*response1)(nil)
	_ http2 = (*response2)(nil)
)

// A response has the methods of the writers of all versions.
type response struct {
	http.ResponseWriter
	hooks Hooks
	sent  bool
}

func (w *response) commit() {
	if !w.sent {
		w.sent = true
		w.hooks.Headers(w.Header())
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(code int) {
	if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		w.commit()
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements [http.ResponseWriter].
func (w *response) Write(b []byte) (int, error) {
	w.commit()
	return w.ResponseWriter.Write(b)
}

// WriteString implements [io.StringWriter].
func (w *response) WriteString(s string) (int, error) {
	w.commit()
	return io.WriteString(w.ResponseWriter, s)
}

// Flush implements [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() } // the next Write returns the error

// FlushError is the Flush of [http.ResponseController].
func (w *response) FlushError() error {
	w.commit()
	return w.controller().Flush()
}

// SetReadDeadline is that of [http.ResponseController].
func (w *response) SetReadDeadline(t time.Time) error { return w.controller().SetReadDeadline(t) }

// SetWriteDeadline is that of [http.ResponseController].
func (w *response) SetWriteDeadline(t time.Time) error { return w.controller().SetWriteDeadline(t) }

// EnableFullDuplex is that of [http.ResponseController].
func (w *response) EnableFullDuplex() error { return w.controller().EnableFullDuplex() }

// Unwrap returns the wrapped writer, for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) controller() *http.ResponseController {
	return http.NewResponseController(w.ResponseWriter)
}

func (w *response) hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.hooks.Hijack != nil {
		w.hooks.Hijack()
	}
	return w.controller().Hijack()
}

func (w *response) readFrom(r io.Reader) (int64, error) {
	w.commit()
	return io.Copy(w.ResponseWriter, r)
}

// A response1 is a writer of HTTP/1.1.
type response1 struct {
	*response
	http.CloseNotifier
}

// Hijack implements [http.Hijacker].
func (w *response1) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// ReadFrom implements [io.ReaderFrom].
func (w *response1) ReadFrom(r io.Reader) (int64, error) { return w.readFrom(r) }

// A response2 is a writer of HTTP/2.
type response2 struct {
	*response
	http.CloseNotifier
	http.Pusher
}

// A responseOf is a writer of an unknown one. Its methods fail if that one and the writers that it unwraps have none.
type responseOf struct{ *response }

// Hijack implements [http.Hijacker].
func (w *responseOf) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// ReadFrom implements [io.ReaderFrom].
func (w *responseOf) ReadFrom(r io.Reader) (int64, error) { return w.readFrom(r) }
