package server

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// named is the routing of tests.
type named struct{ name string }

func (*named) Release() {}

func (n *named) Describe() (string, error) { return n.name, nil }

// A flakyListener fails to accept a few times, and then fails permanently.
type flaky struct {
	net.Listener

	errs   []error
	closed bool
}

type temporary struct{ error }

func (temporary) Temporary() bool { return true }

func (*flaky) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (f *flaky) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func (f *flaky) Close() error { f.closed = true; return nil }

func TestAcceptErrors(t *testing.T) {
	final := errors.New("broken")
	f := &flaky{errs: []error{temporary{errors.New("busy")}, temporary{errors.New("busy")}, final}}
	p, err := NewPort[*named](&Config{Logger: slog.New(slog.DiscardHandler)}, nil, f, "web")
	check(t, err)
	if err := p.accept(); !errors.Is(err, final) || len(f.errs) != 0 || !f.closed {
		t.Errorf("accept = %v with %d errors left, closed: %v; want the last error and the socket closed", err, len(f.errs), f.closed)
	}
	f = &flaky{errs: []error{temporary{errors.New("busy")}, final}}
	p, err = NewPort[*named](&Config{Logger: slog.New(slog.DiscardHandler)}, nil, f, "web")
	check(t, err)
	p.Stop()
	if err := p.accept(); err != nil {
		t.Errorf("accept on a port that has stopped = %v", err)
	}
	if _, err := NewPort[*named](&Config{}, nil, unixListener{}, "web"); err == nil || !strings.Contains(err.Error(), "must be a *net.TCPAddr (A36)") {
		t.Errorf("a port on a Unix socket: %v", err)
	}
}

type unixListener struct{ net.Listener }

func (unixListener) Addr() net.Addr { return &net.UnixAddr{Name: "/run/x", Net: "unix"} }

// A clockedListener returns given results from Accept and records the time of each call.
type clocked struct {
	flaky

	start time.Time
	asked []time.Duration
}

func (c *clocked) Accept() (net.Conn, error) {
	c.asked = append(c.asked, time.Since(c.start))
	if c.errs[0] == nil {
		c.errs = c.errs[1:]
		a, b := net.Pipe()
		_ = b.Close() // the port closes the other end
		return a, nil
	}
	return c.flaky.Accept()
}

// The port waits after each error of its socket: twice as long each time, and a second at most. A
// connection resets the delay.
func TestPausesOfAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := temporary{errors.New("busy")}
		errs := slices.Repeat([]error{busy}, 10)
		c := &clocked{flaky: flaky{errs: append(errs, nil, busy, errors.New("broken"))}, start: time.Now()}
		p, err := NewPort[*named](&Config{Logger: slog.New(slog.DiscardHandler)}, nil, c, "web")
		check(t, err)
		if err := p.accept(); err == nil {
			t.Error("accept returns no error")
		}
		const ms = time.Millisecond
		want := []time.Duration{0}
		for _, pause := range []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, time.Second, time.Second, 0, 5 * ms} {
			want = append(want, want[len(want)-1]+pause)
		}
		if !slices.Equal(c.asked, want) {
			t.Errorf("Accept calls of the socket at %v; want %v", c.asked, want)
		}
	})
}
