package builtin

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/extensions/headerchange"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/headermutation"
)

func headerMutation() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: headermutation.Filter(),
		NewServer: httpfilter.Stateless(func(config, override any) (httpfilter.Middleware, error) {
			c, err := read[headermutation.Config](config)
			if err != nil {
				return nil, err
			}
			if override != nil {
				o, err := read[headermutation.Config](override)
				if err != nil {
					return nil, err
				}
				c.Request = append(c.Request[:len(c.Request):len(c.Request)], o.Request...)
				c.Response = append(c.Response[:len(c.Response):len(c.Response)], o.Response...)
			}
			return mutate(c), nil
		}),
	}
}

// mutate returns the middleware of changes. It is nil without changes.
func mutate(c headermutation.Config) httpfilter.Middleware {
	if len(c.Request)+len(c.Response) == 0 {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(c.Request) > 0 {
				changed := new(http.Request)
				*changed = *r
				changed.Header = r.Header.Clone()
				headerchange.Apply(changed.Header, c.Request)
				r = changed
			}
			if len(c.Response) == 0 {
				next.ServeHTTP(w, r)
				return
			}
			out := &response{ResponseWriter: w, changes: c.Response}
			next.ServeHTTP(out, r)
			out.commit()
		})
	}
}

// A response changes the headers when they are sent. It has the optional methods of the writers of net/http.
type response struct {
	http.ResponseWriter
	changes []headerchange.Change
	sent    bool
}

var (
	_ http.Flusher  = (*response)(nil)
	_ http.Hijacker = (*response)(nil)
	_ io.ReaderFrom = (*response)(nil)
)

// commit changes the headers once.
func (w *response) commit() {
	if !w.sent {
		w.sent = true
		headerchange.Apply(w.Header(), w.changes)
	}
}

// WriteHeader implements [http.ResponseWriter]. Informational responses stay unchanged.
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

// ReadFrom implements [io.ReaderFrom].
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	w.commit()
	return io.Copy(w.ResponseWriter, r)
}

// Flush implements [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() } // the next Write returns the error

// FlushError is the Flush of [http.ResponseController].
func (w *response) FlushError() error {
	w.commit()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements [http.Hijacker]. It returns an error for HTTP/2.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap returns the writer of the server, for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
