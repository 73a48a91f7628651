package httpxds_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// A leaver is a server of HTTP/1.1 whose first connection ends after a response, when the test says so.
type leaver struct {
	leave    chan struct{} // closed to end the first connection
	farewell func(net.Conn)
	conns    atomic.Int64
}

// ServeHTTP implements [http.Handler].
func (l *leaver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.conns.Add(1) > 1 {
		read(w, r)
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusHTTPVersionNotSupported)
		return
	}
	defer c.Close()
	_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
	_ = rw.Flush()
	<-l.leave
	l.farewell(c)
}

// TestConnectionEndsBeforeTheRequest expects a request that is not idempotent to be sent on another connection if its connection
// ends between the pick and the first byte of the request. The end is neither an error of the program nor one of the endpoint.
func TestConnectionEndsBeforeTheRequest(t *testing.T) {
	for name, farewell := range map[string]func(net.Conn){
		"close": func(c net.Conn) { _ = c.Close() }, // with TLS, the client answers with an alert
		"status 408": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
			_, _ = io.Copy(io.Discard, c) // until the client closes
		},
		"a response to nothing": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", name, secure), func(t *testing.T) {
				l := &leaver{leave: make(chan struct{}), farewell: farewell}
				w, addr, upstream := tlsWorldOf(t, l.ServeHTTP)
				settings := upstream("server.example")
				if !secure {
					addr, settings = serve(t, l.ServeHTTP), ""
				}
				w.cluster("c", settings+` outlier_detection { interval { seconds: 3600 } consecutive_5xx { value: 1 } max_ejection_percent { value: 100 } }`, addr)
				w.routes("%s", to("c"))
				rt := w.transport(httpxds.WithProtocol(httpxds.HTTP1))
				load(t, rt, 1, 1)
				gone := false
				ctx := httptrace.WithClientTrace(soon(t), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
					if gone {
						return
					}
					gone = true
					close(l.leave)
					until(t, func() (bool, string) {
						return i.Conn.SetReadDeadline(time.Time{}) != nil, "an open connection"
					})
				}})
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://svc/", strings.NewReader("hello"))
				check(t, err)
				resp, err := rt.RoundTrip(r)
				check(t, err)
				defer resp.Body.Close()
				if body, err := io.ReadAll(resp.Body); string(body) != "hello" || err != nil {
					t.Errorf("%q, %v; want the body of the request", body, err)
				}
				if n := w.ejected(); n != 0 || l.conns.Load() != 2 {
					t.Errorf("%d requests, %d endpoints are ejected; want 2 requests and no ejection", l.conns.Load(), n)
				}
			})
		}
	}
}
