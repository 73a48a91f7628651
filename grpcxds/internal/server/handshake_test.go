package server

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func begin(t *testing.T, h *handshakes) *conn {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	c := h.begin(security.NewConn(a, nil), new(atomic.Int64))
	if c == nil {
		t.Fatal("begin refused")
	}
	return c
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestHandshakesWaitForWhatWasHandedOver(t *testing.T) {
	h := newHandshakes()
	early, late, given := begin(t, h), begin(t, h), begin(t, h)
	_ = early.SetDeadline(time.Now().Add(time.Minute))
	taken := h.seal()
	if closed(taken) {
		t.Error("sealed with connections that wait")
	}
	if h.begin(early.Conn, new(atomic.Int64)) != nil {
		t.Error("begin after seal")
	}
	_ = late.SetDeadline(time.Now().Add(time.Minute))
	_ = given.Close() // a server that stops closes unaccepted connections
	if !closed(taken) {
		t.Error("not sealed, though all were taken up")
	}
	if !closed(h.seal()) {
		t.Error("sealing twice")
	}
}

func TestHandshakesThatAreNotFinishedAreClosed(t *testing.T) {
	h := newHandshakes()
	quick, silent := begin(t, h), begin(t, h)
	for _, c := range []*conn{quick, silent} {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
	}
	_ = quick.SetDeadline(time.Time{})
	_ = quick.SetDeadline(time.Now().Add(time.Minute)) // somebody else's
	h.closeAll()
	if _, err := silent.Write([]byte("x")); err == nil {
		t.Error("an unfinished handshake continues")
	}
	if err := quick.SetReadDeadline(time.Time{}); err != nil {
		t.Errorf("a handshake that is finished was closed: %v", err)
	}
}

// A connection counts as open until it is closed, however often.
func TestOpenConnections(t *testing.T) {
	h := newHandshakes()
	open := new(atomic.Int64)
	var conns []*conn
	for range 2 {
		a, b := net.Pipe()
		_ = b.Close() // nothing is sent
		conns = append(conns, h.begin(security.NewConn(a, nil), open))
	}
	want := func(when string, connections int64, handshakes int) {
		t.Helper()
		if open.Load() != connections || h.count() != handshakes {
			t.Errorf("%s: %d connections are open, %d of them in handshakes; want %d and %d", when, open.Load(), h.count(), connections, handshakes)
		}
	}
	want("at first", 2, 2)
	_ = conns[0].SetDeadline(time.Time{})
	want("after a handshake", 2, 1)
	_, _ = conns[0].Close(), conns[0].Close()
	want("after a connection is closed twice", 1, 1)
	_ = conns[1].Close()
	want("at last", 0, 0)
}
