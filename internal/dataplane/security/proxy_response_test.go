package security

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/resolver"
)

// answerConnect makes a CONNECT request to a proxy that sends start, and then again without an end, unless that is empty. It returns the number of
// bytes that the proxy has sent.
func answerConnect(t *testing.T, start, again string) (conn net.Conn, sent int, err error) {
	t.Helper()
	ours, proxy := net.Pipe()
	done := make(chan int)
	go func() {
		request := make([]byte, 1000)
		_, _ = proxy.Read(request)
		n, err := io.WriteString(proxy, start)
		for err == nil && again != "" {
			var m int
			m, err = io.WriteString(proxy, again)
			n += m
		}
		_ = proxy.Close()
		done <- n
	}()
	a := ThroughProxies([]resolver.Address{WithProxy(resolver.Address{Addr: "10.0.0.1:1"}, "proxy:1")})[0]
	conn, err = ThroughProxy(t.Context(), ours, a.Attributes)
	if again != "" || err != nil {
		sent = <-done
	} else {
		go func() { <-done }()
	}
	return conn, sent, err
}

// The headers of a proxy's response have at most 64 KiB, with those of interim responses.
func TestEndlessResponsesOfProxies(t *testing.T) {
	for name, tt := range map[string]struct{ start, again string }{
		"headers":           {"HTTP/1.1 200 OK\r\n", "X-A: " + strings.Repeat("b", 1000) + "\r\n"},
		"one header":        {"HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("b", 1000)},
		"interim responses": {"", "HTTP/1.1 100 Continue\r\n\r\n"},
	} {
		conn, sent, err := answerConnect(t, tt.start, tt.again)
		if conn != nil || !errors.Is(err, errResponse) || sent > 2*maxResponse {
			t.Errorf("%s: %v after %d bytes; want an error with the limit", name, err, sent)
		}
	}
}

// Interim responses precede that to the CONNECT request. The connection goes on behind it.
func TestInterimResponsesOfProxies(t *testing.T) {
	conn, _, err := answerConnect(t, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); string(got) != "hello" || err != nil {
		t.Errorf("the connection has %q, %v; want hello", got, err)
	}
	if conn, _, err := answerConnect(t, "HTTP/1.1 101 Switching Protocols\r\n\r\n", ""); conn != nil || err == nil || !strings.Contains(err.Error(), "101") {
		t.Errorf("101: %v; want an error", err)
	}
}
