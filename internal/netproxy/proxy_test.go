package netproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/internal/loopback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo returns every line that it reads. It ends when its peer closes the connection.
func echo(t *testing.T) (addr string) {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		_ = lis.Close()
		<-done
	})
	return lis.Addr().String()
}

func start(t *testing.T) *Proxy {
	t.Helper()
	p, err := Start(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// A caller is the client's end of a connection.
type caller struct {
	t *testing.T
	*net.TCPConn
	lines *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *caller {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &caller{t, c.(*net.TCPConn), bufio.NewReader(c)}
}

func (c *caller) say(s string) {
	c.t.Helper()
	if _, err := c.Write([]byte(s + "\n")); err != nil {
		c.t.Fatal(err)
	}
}

// hear reads a line, with a timeout.
func (c *caller) hear(within time.Duration) (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(within))
	s, err := c.lines.ReadString('\n')
	return s, err
}

func (c *caller) expect(want string) {
	c.t.Helper()
	if got, err := c.hear(time.Minute); err != nil || got != want+"\n" {
		c.t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

// nothing expects no data for a while.
func (c *caller) nothing() {
	c.t.Helper()
	if got, err := c.hear(30 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("read %q, %v; want nothing yet", got, err)
	}
}

func (c *caller) over() {
	c.t.Helper()
	if got, err := c.hear(time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("read %q, %v; want EOF", got, err)
	}
}

func TestForwardsAndCounts(t *testing.T) {
	p := start(t)
	one, two := dial(t, p), dial(t, p)
	one.say("hello")
	two.say("you")
	one.expect("hello")
	two.expect("you")
	if all, now := p.Connections(); all != 2 || now != 2 {
		t.Errorf("%d connections so far, %d now; want 2 and 2", all, now)
	}
	if up, down := p.Bytes(Up), p.Bytes(Down); up != 10 || down != 10 {
		t.Errorf("%d bytes up, %d down; want 10 each", up, down)
	}
}

func TestCut(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	c.say("a")
	c.expect("a")
	p.Disconnect()
	c.over()
	again := dial(t, p)
	again.say("b")
	again.expect("b")
}

func TestStallEitherWay(t *testing.T) {
	for _, d := range []Direction{Up, Down} {
		p := start(t)
		c := dial(t, p)
		c.say("a")
		c.expect("a")
		p.Stall(d)
		c.say("b")
		c.say("c")
		c.nothing()
		p.Resume(d)
		c.expect("b")
		c.expect("c")
	}
}

func TestDelay(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Delay(Up, 50*time.Millisecond)
	began := time.Now()
	c.say("a")
	c.expect("a")
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("there and back in %v, want at least the delay of 50ms", took)
	}
	p.Delay(Up, time.Hour)
	c.say("b")
	c.nothing()
	p.Delay(Up, 0)
	c.expect("b")
}

func TestHalfClose(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	c.say("a")
	c.expect("a")
	p.HalfClose(Up) // the server has read everything and closes
	c.over()
}

func TestHalfCloseOfAnEndIsPassedOn(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	c.say("a")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.expect("a")
	if _, err := c.hear(time.Minute); !errors.Is(err, io.EOF) {
		t.Errorf("error = %v, want io.EOF", err)
	}
}

// refused expects a connection to fail, either in the attempt or later.
func refused(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr())
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	(&caller{t, c.(*net.TCPConn), bufio.NewReader(c)}).over()
}

func TestRefuse(t *testing.T) {
	p := start(t)
	old := dial(t, p)
	old.say("a")
	old.expect("a")
	p.Refuse()
	refused(t, p)
	old.say("b")
	old.expect("b")
	p.Accept()
	again := dial(t, p)
	again.say("c")
	again.expect("c")
}

func TestTargetThatIsNotThere(t *testing.T) {
	port, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = port.Close() }()
	p, err := Start(port.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	refused(t, p)
}

func TestCloseEndsWhateverStateItIsIn(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	c.say("a")
	c.expect("a")
	p.Stall(Up)
	p.Stall(Down)
	p.Delay(Up, time.Hour)
	c.say("b")
	p.Close()
	p.Close()
	c.over()
}
