package webguard

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory.
type pipes struct{ conns chan net.Conn }

// Accept implements [net.Listener].
func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (pipes) Close() error { return nil }

// Addr implements [net.Listener].
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// The server ends connections of clients that are slow to send a header, a body or nothing at all, or to read, and refuses
// large headers.
func TestServerLimits(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: localhost\r\n"
	for _, x := range []struct {
		name, send string
		reads      bool
		want       string        // a part of the answer
		within     time.Duration // the end of the connection
	}{
		{"without a byte", "", true, "", headerTime},
		{"with a part of a header", head + "X-Slow: ", true, "", headerTime},
		{"idle after a request", head + "\r\n", true, "200 OK", idleTime},
		{"with a body that never ends", head + "Content-Length: 1000\r\n\r\nx", true, "200 OK", readTime + time.Second},
		{"that does not read", head + "\r\n", false, "", writeTime},
		{"with a large header", head + "X-Large: " + strings.Repeat("x", headerBytes+8<<10) + "\r\n\r\n", true, "431 ", time.Second},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, strings.Repeat("x", 100_000)) // the client may be gone
				}))
				lis := pipes{make(chan net.Conn, 1)}
				served := make(chan error, 1)
				go func() { served <- s.Serve(lis) }()
				c, peer := net.Pipe()
				lis.conns <- peer
				start := time.Now()
				go func() { _, _ = io.WriteString(c, x.send) }() // the server may end the connection
				var answer []byte
				if x.reads {
					answer, _ = io.ReadAll(c) // until the server closes the connection
				} else {
					<-time.NewTimer(x.within).C
					synctest.Wait()
					answer, _ = io.ReadAll(io.LimitReader(c, 1<<20))
				}
				if took := time.Since(start); took > x.within {
					t.Errorf("the connection ends after %v, want at most %v", took, x.within)
				}
				if !strings.Contains(string(answer), x.want) {
					t.Errorf("the answer begins with %.60q, want %q in it", answer, x.want)
				}
				_ = c.Close()
				close(lis.conns)
				_, _ = s.Close(), <-served
			})
		})
	}
}
