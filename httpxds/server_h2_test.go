package httpxds_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A framer is a client of HTTP/2 that sends and reads single frames.
type framer struct {
	*http2.Framer
	*site
	conn net.Conn
}

func (s *site) framer() *framer {
	s.Helper()
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
	check(s, err)
	s.Cleanup(func() { _ = c.Close() })
	deadline, _ := s.ctx.Deadline()
	check(s, c.SetDeadline(deadline))
	_, err = io.WriteString(c, http2.ClientPreface)
	check(s, err)
	f := &framer{http2.NewFramer(c, c), s, c}
	check(s, f.WriteSettings())
	return f
}

// request sends a request without a body.
func (f *framer) request(id uint32, path string) {
	f.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, h := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: f.addr}, {Name: ":path", Value: path}} {
		check(f.site, e.WriteField(h))
	}
	check(f.site, f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
}

// until reads frames until one that is wanted. It returns false if the connection has ended.
func (f *framer) until(wanted func(http2.Frame) bool) bool {
	f.Helper()
	for {
		frame, err := f.ReadFrame()
		if errors.Is(err, io.EOF) {
			return false
		}
		check(f.site, err)
		if wanted(frame) {
			return true
		}
	}
}

func ended(id uint32) func(http2.Frame) bool {
	return func(frame http2.Frame) bool {
		d, ok := frame.(*http2.DataFrame)
		return ok && d.StreamID == id && d.StreamEnded()
	}
}

// On a connection of an old Listener, the next response brings GOAWAY. Streams before it finish, and then the server
// closes the connection.
func TestGoAway(t *testing.T) {
	h, started, release := holding()
	defer release()
	s := newSite(t, h, "", nil)
	s.listen(chain("one", hosts(anyRoute)))
	s.serving("")
	f := s.framer()
	f.request(1, "/held")
	<-started
	s.listen(chain("two", hosts(anyRoute)))
	s.until("the new generation serves", func() bool { return s.newest() == "two" })
	// The new generation may serve a moment before the old one drains.
	var id, last uint32
	for id = 3; last == 0; id += 2 {
		f.request(id, "/next")
		f.until(func(frame http2.Frame) bool {
			if g, ok := frame.(*http2.GoAwayFrame); ok {
				if last = g.LastStreamID; g.ErrCode != http2.ErrCodeNo {
					t.Errorf("GOAWAY has the code %v", g.ErrCode)
				}
			}
			return last != 0 || ended(id)(frame)
		})
	}
	if last != id-2 {
		t.Errorf("GOAWAY admits streams up to %d; want %d", last, id-2)
	}
	release()
	if !f.until(ended(1)) {
		t.Error("the connection ends before the stream that it admitted")
	}
	if f.until(func(http2.Frame) bool { return false }) {
		t.Error("the connection stays open")
	}
	s.until("the old generation ends", func() bool { return s.generations() == 1 })
}

// A reset of a stream ends its request and no other one, and frees the filters of its update.
func TestResetOfAStream(t *testing.T) {
	canceled := make(chan struct{}, 1)
	started := make(chan struct{}, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			started <- struct{}{}
			<-r.Context().Done()
			canceled <- struct{}{}
			return
		}
		echo(w, r)
	})
	s := newSite(t, h, "", nil)
	s.listen(chain("one", hosts(anyRoute)))
	s.serving("")
	f := s.framer()
	f.request(1, "/held")
	<-started
	check(t, f.WriteRSTStream(1, http2.ErrCodeCancel))
	<-canceled
	f.request(3, "/next")
	if !f.until(ended(3)) {
		t.Error("the connection ends with the reset of a stream")
	}
}

// Close also closes connections that the handler has taken over.
func TestCloseEndsUpgradedConnections(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		go func() { _, _ = io.Copy(c, rw); _ = c.Close() }()
	})
	s := newSite(t, h, "", nil)
	s.listen(chain("one", hosts(anyRoute)))
	s.serving("")
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.addr)
	check(t, err)
	defer func() { _ = c.Close() }()
	check(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	check(t, err)
	b := make([]byte, 12)
	_, err = io.ReadFull(c, b)
	check(t, err)
	if string(b) != "HTTP/1.1 101" {
		t.Fatalf("the response is %q", b)
	}
	if n := s.env.Servers()[0].Ports[0].Generations[0].FilterChains[0].Connections; n != 1 {
		t.Errorf("%d connections; want the upgraded one", n)
	}
	check(t, s.Close())
	if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, net.ErrClosed) {
		t.Errorf("the upgraded connection: %v", err)
	}
}
