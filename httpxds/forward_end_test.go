package httpxds_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// conversation is a connection of a client that chooses each byte.
func conversation(t *testing.T, addr, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	check(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, request)
	check(t, err)
	return c, bufio.NewReader(c)
}

// TestEndOfTheResponseBeforeTheBody expects a client to get the end of a response that announces no length when the forwarding
// handler has ended, although the client has not sent the body.
func TestEndOfTheResponseBeforeTheBody(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"short": status(http.StatusUnauthorized),
		"long": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(make([]byte, 100_000))
		},
		"read in part": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 1))
			w.WriteHeader(http.StatusUnauthorized)
		},
	} {
		for _, length := range []string{"Content-Length: 5\r\n\r\nh", "Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n"} {
			t.Run(name+" "+length[:7], func(t *testing.T) {
				c, r := conversation(t, forwardTo(t, h), "POST / HTTP/1.1\r\nHost: a\r\n"+length)
				resp, err := http.ReadResponse(r, nil)
				check(t, err)
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusUnauthorized {
					t.Fatalf("status %s, %v; want the whole response", resp.Status, err)
				}
				_, _ = io.WriteString(c, "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n") // the rest of the body
				if rest, err := io.ReadAll(r); len(rest) > 0 {
					t.Errorf("%q, %v after the response; want the end of the connection", rest, err)
				}
			})
		}
	}
}

// TestUnreadInvalidBody expects the bytes after an invalid body to be no request.
func TestUnreadInvalidBody(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"unread": status(http.StatusUnauthorized),
		"announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, _ = io.WriteString(w, "no")
		},
		"closed": func(w http.ResponseWriter, r *http.Request) {
			_ = r.Body.Close()
			_, _ = io.WriteString(w, "no")
		},
		"read": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "no")
		},
		"sent before it is read": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "no")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(io.Discard, r.Body)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := conversation(t, forwardTo(t, h), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhXX\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
			resp, err := http.ReadResponse(r, nil)
			check(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			check(t, err)
			if rest, err := io.ReadAll(r); strings.Contains(string(rest), "HTTP/1.1") {
				t.Errorf("%q, %v after the response; want the end of the connection", rest, err)
			}
		})
	}
}

// TestTrailersOfRequests expects handlers to see the trailers of a request as those of net/http do, whether it announces them.
func TestTrailersOfRequests(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, r.Trailer)
	}
	plain := httptest.NewServer(http.HandlerFunc(h))
	t.Cleanup(plain.Close)
	for name, addr := range map[string]string{
		"net/http": plain.Listener.Addr().String(), "a Server": throughServer("")(t, h), "a forwarding Server": forwardTo(t, http.HandlerFunc(h)),
		"a Server with filters": throughServer(filter("header_mutation.v3.HeaderMutation", adding("x")))(t, h),
	} {
		for _, announced := range []string{"", "Trailer: X-Sum\r\n"} {
			_, r := conversation(t, addr, "POST / HTTP/1.1\r\nHost: a\r\n"+announced+"Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n0\r\nX-Sum: 7\r\n\r\n")
			resp, err := http.ReadResponse(r, nil)
			check(t, err)
			if body, err := io.ReadAll(resp.Body); string(body) != "map[X-Sum:[7]]" || err != nil {
				t.Errorf("%s: the handler sees the trailers %s, %v; want X-Sum, announced: %t", name, body, err, announced != "")
			}
		}
	}
}
