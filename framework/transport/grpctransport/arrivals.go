package grpctransport

import (
	"net"
	"sync"
	"time"
)

// Bytes count as a message if there are many of them without a long pause. Pings, settings and
// window updates are fewer.
const (
	messageBytes = 16 << 10
	longestPause = 5 * time.Second
)

// arrivals counts the bytes that arrive on the connections to one server. grpc-go reports a message
// only when it is complete.
type arrivals struct {
	mu    sync.Mutex
	bytes uint64
	began time.Time // first arrival after the last long pause
	last  time.Time
}

func (a *arrivals) add(n int) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.last) > longestPause {
		a.began = now
	}
	a.bytes += uint64(n) //nolint:gosec // a length
	a.last = now
}

// mark returns the number of bytes that have arrived.
func (a *arrivals) mark() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes
}

// since returns the time since which bytes have been arriving. It reports true if enough bytes for
// a message have arrived since the mark, and bytes are still arriving.
func (a *arrivals) since(mark uint64) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.began, a.bytes-mark >= messageBytes && time.Since(a.last) <= longestPause
}

// A countedConn counts the bytes that are read from it.
type countedConn struct {
	net.Conn
	arrivals *arrivals
}

// Read implements [net.Conn].
func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.arrivals.add(n)
	}
	return n, err
}
