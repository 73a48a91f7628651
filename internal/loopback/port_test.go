//go:build unix

package loopback_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/xdsforge/xdsforge/internal/loopback"
)

// The owner of a port listens repeatedly. In between, connections are refused.
func TestListenAgain(t *testing.T) {
	p, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if c, err := dial(t.Context(), p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialing a port without a listener returns %v, %v; want ECONNREFUSED", c, err)
		}
		lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c, err := dial(t.Context(), p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := lis.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []interface{ Close() error }{accepted, c, lis} { // the port waits in TIME_WAIT
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Neither listeners on any port nor outgoing connections get a reserved port.
func TestNobodyGetsThePort(t *testing.T) {
	reserved := make(map[string]bool)
	for range 200 {
		p, err := loopback.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		if reserved[p.Addr()] {
			t.Errorf("%s was reserved twice", p.Addr())
		}
		reserved[p.Addr()] = true
	}
	for range 1000 {
		lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := dial(t.Context(), lis.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []net.Addr{lis.Addr(), c.LocalAddr()} {
			if reserved[a.String()] {
				t.Errorf("another socket got the reserved address %s", a)
			}
		}
		_, _ = c.Close(), lis.Close()
	}
}

func dial(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}
