package grpcxds

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// Calls of a replaced Listener continue until the grace time ends: 10 minutes unless an option sets
// another (A36).
func TestGraceTimeIsTenMinutes(t *testing.T) {
	for name, c := range map[string]struct {
		drain time.Duration
		grace time.Duration // 0: calls go on
	}{
		"the default":        {0, 10 * time.Minute},
		"an hour":            {time.Hour, time.Hour},
		"as long as it does": {-1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *memoryWorld) {
				w.serveWith(ServerConfig{DrainTime: c.drain}, "10.0.0.1:80")
				w.publish(anyChain(inline(anyRoute)))
				w.pass(time.Second)
				ss, err := w.dial("passthrough:///10.0.0.1:80").FullDuplexCall(w.Context())
				if err != nil {
					w.Fatal(err)
				}
				ping(w, ss)
				w.publish(anyChain(inline(`name: "again" ` + anyRoute)))
				start := time.Now()
				if c.grace == 0 {
					w.pass(24 * time.Hour)
					ping(w, ss)
					finish(w, ss)
					return
				}
				w.pass(c.grace - time.Second)
				ping(w, ss)
				_, err = ss.Recv()
				if err == nil || errors.Is(err, io.EOF) {
					w.Errorf("the stream ends with %v; want that the connection was closed", err)
				}
				if d := time.Since(start).Round(time.Second); d != c.grace {
					w.Errorf("the stream ends after %v; want %v", d, c.grace)
				}
			})
		})
	}
}

// When Serve returns for any reason, the server stops watching its Listener and routes. Another
// server keeps the client of the Env open.
func TestServeEndsItsWatch(t *testing.T) {
	for name, end := range map[string]func(*memorySite) error{
		"Stop":         func(s *memorySite) error { s.Stop(); return nil },
		"GracefulStop": func(s *memorySite) error { s.GracefulStop(); return nil },
		"the socket":   func(s *memorySite) error { s.socket.fail(); return net.ErrClosed },
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *memoryWorld) {
				w.routes("r", allHosts)
				w.publish(anyChain(rds("r")))
				s := w.serve("10.0.0.1:80")
				w.serve("10.0.0.2:80")
				w.pass(time.Second)
				subscribed := func(want ...string) {
					w.Helper()
					got := w.plane.Subscribed()
					slices.Sort(got)
					if !slices.Equal(got, want) {
						w.Errorf("subscribed to %q; want %q", got, want)
					}
				}
				subscribed("r", "server/10.0.0.1:80", "server/10.0.0.2:80")
				failed := end(s) != nil
				err := <-s.served
				s.served <- err
				if (err != nil) != failed {
					w.Errorf("Serve: %v; want an error: %v", err, failed)
				}
				w.pass(time.Minute)
				subscribed("server/10.0.0.2:80")
			})
		})
	}
}
