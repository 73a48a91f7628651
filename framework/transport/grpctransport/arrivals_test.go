package grpctransport

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestArrivals expects a message to count as arriving while many bytes come without a long pause.
func TestArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a arrivals
		a.add(100)
		mark := a.mark()
		if mark != 100 {
			t.Errorf("100 bytes have arrived; the mark is %d", mark)
		}
		expect := func(step string, want bool, began time.Duration, start time.Time) {
			t.Helper()
			got, ok := a.since(mark)
			if ok != want || ok && got.Sub(start) != began {
				t.Errorf("%s: arriving is %t since %v, want %t since %v", step, ok, got.Sub(start), want, began)
			}
		}
		start := time.Now()
		expect("at first", false, 0, start)
		pass(longestPause)
		a.add(messageBytes - 1)
		expect("a byte is missing", false, 0, start)
		a.add(1)
		expect("enough bytes after a pause that is just not long", true, 0, start)
		pass(longestPause)
		expect("they are just recent", true, 0, start)
		pass(1)
		expect("a long pause", false, 0, start)
		a.add(1)
		expect("the bytes after the pause start anew", true, 2*longestPause+1, start)
		mark = a.mark()
		expect("none since the newest mark", false, 0, start)
	})
}

// pass lets time pass in a bubble.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// TestCountedConn counts the bytes of each read, including those before an error.
func TestCountedConn(t *testing.T) {
	var a arrivals
	c := countedConn{reads{3}, &a}
	n, err := c.Read(make([]byte, 10))
	if n != 3 || !errors.Is(err, net.ErrClosed) || a.mark() != 3 {
		t.Errorf("Read returned %d, %v; %d bytes count, want 3", n, err, a.mark())
	}
	last := a.last
	c.Conn = reads{0}
	_, _ = c.Read(nil)
	if a.mark() != 3 || a.last != last {
		t.Error("a read without bytes counted")
	}
}

// reads is a connection that returns some bytes and an error.
type reads struct{ n int }

func (r reads) Read([]byte) (int, error)       { return r.n, net.ErrClosed }
func (reads) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (reads) Close() error                     { return nil }
func (reads) LocalAddr() net.Addr              { return nil }
func (reads) RemoteAddr() net.Addr             { return nil }
func (reads) SetDeadline(time.Time) error      { return nil }
func (reads) SetReadDeadline(time.Time) error  { return nil }
func (reads) SetWriteDeadline(time.Time) error { return nil }

// TestArriving expects a stream to report a message only while its reader waits for one. The message cannot have begun before.
func TestArriving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{arrivals: new(arrivals)}
		start := time.Now()
		want := func(when string, since time.Duration, arriving bool) {
			t.Helper()
			got, ok := s.Arriving()
			if ok != arriving || ok && got.Sub(start) != since {
				t.Errorf("%s: a message arrives since %v: %t, want %v, %t", when, got.Sub(start), ok, since, arriving)
			}
		}
		s.arrivals.add(messageBytes)
		want("nobody waits", 0, false)
		pass(time.Second)
		s.wait()
		want("nothing has arrived since", 0, false)
		pass(time.Second)
		s.arrivals.add(messageBytes)
		want("bytes that arrive since before the wait", time.Second, true)
		pass(longestPause + time.Second)
		want("a pause", 0, false)
		s.arrivals.add(messageBytes)
		want("bytes after a pause", longestPause+3*time.Second, true)
	})
}
