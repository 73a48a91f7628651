package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A failing network opens no stream while it has a kind of error. Each error has a text of
// its own.
type failing struct {
	memoryads.Network
	mu       sync.Mutex
	kind     string
	attempts int
}

func (f *failing) fail(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kind, f.attempts = kind, 0
}

func (f *failing) Dial(s *bootstrap.Server) (transport.Conn, error) {
	c, err := f.Network.Dial(s)
	return failingConn{c, f}, err
}

type failingConn struct {
	transport.Conn
	network *failing
}

func (c failingConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	f := c.network
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kind == "" {
		return c.Conn.OpenStream(ctx, method)
	}
	f.attempts++
	return nil, &transport.Error{Kind: f.kind, Text: fmt.Sprintf("dial tcp from port %d: refused", f.attempts)}
}

// A heard watcher records its notifications as text.
type heard struct {
	mu    sync.Mutex
	words []string
}

func (h *heard) say(word string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.words = append(h.words, word)
}

func (h *heard) subscribe(t *testing.T, c resource.Source, name string) *heard {
	t.Helper()
	cancel, err := c.Subscribe(things, name, delivered(recorder{
		changed: func(resource.Update) { h.say("changed") },
		failed:  func(error) { h.say("failed") },
		ambient: func(err error) {
			if err == nil {
				h.say("over")
				return
			}
			h.say("ambient")
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return h
}

func (h *heard) wants(t *testing.T, words ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.words, words) {
		t.Errorf("the watcher got %q, want %q", h.words, words)
	}
}

// lines are those of a log that hold a text.
func lines(log, text string) (found []string) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// An outage is reported once, to watchers and in the log, even if the client retries many
// times and the errors have different port numbers. The snapshot has the newest error.
func TestOutageIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true})
		s.Set(things.URL(), thing("cached", "1"))
		network := &failing{Network: memoryads.Network{"memory:1": s}}
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1")}}
		c, err := newWith(config(t, spec), types, withTransport(network), withLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		cached := new(heard).subscribe(t, c, "cached")
		pass(time.Second)
		waiting := new(heard).subscribe(t, c, "waiting")
		pass(5 * time.Second)
		network.fail("Unavailable")
		s.Disconnect(errors.New("cut"))
		pass(10 * time.Minute)
		late := new(heard).subscribe(t, c, "late")
		pass(10 * time.Minute)
		cached.wants(t, "changed", "ambient")
		waiting.wants(t, "failed")
		late.wants(t, "failed")
		network.mu.Lock()
		attempts := network.attempts
		network.mu.Unlock()
		picture, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := picture.Servers[0]
		if attempts < 10 || e.Attempts != attempts || !strings.Contains(e.Err.Error(), fmt.Sprintf("port %d:", attempts)) || time.Since(e.DownSince) < 19*time.Minute {
			t.Errorf("after %d attempts the snapshot has %d since %v, and %v; want all of them, and the newest error", attempts, e.Attempts, e.DownSince, e.Err)
		}
		if found := lines(log.String(), "unreachable"); len(found) != 1 || !strings.Contains(found[0], "level=WARN") {
			t.Errorf("lines of the outage: %q, want one", found)
		}
		network.fail("PermissionDenied")
		pass(10 * time.Minute)
		cached.wants(t, "changed", "ambient", "ambient")
		late.wants(t, "failed", "failed")
		if found := lines(log.String(), "unreachable"); len(found) != 2 || !strings.Contains(found[1], "PermissionDenied") {
			t.Errorf("lines of the outage: %q, want another for the other kind", found)
		}
		network.fail("")
		pass(10 * time.Minute)
		cached.wants(t, "changed", "ambient", "ambient", "over")
		found := lines(log.String(), "reachable again")
		if len(found) != 1 || !strings.Contains(found[0], "attempts=") {
			t.Fatalf("lines of its end: %q, want one with the attempts", found)
		}
		_, length, _ := strings.Cut(found[0], "outage=")
		length, _, _ = strings.Cut(length, " ")
		if d, err := time.ParseDuration(length); err != nil || d < 29*time.Minute || d > 33*time.Minute {
			t.Errorf("the outage is %q long, %v; want half an hour and at most two pauses", length, err)
		}
		if picture, err = c.Snapshot(t.Context()); err != nil || !picture.Servers[0].DownSince.IsZero() || picture.Servers[0].Attempts != 0 {
			t.Errorf("the snapshot has an outage that is over: %+v, %v", picture.Servers[0], err)
		}
	})
}

// An outage has a last log line even if nobody waits for its end.
func TestOutageThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c, s := newThingsWith(t, nil, withLogger(slog.New(slog.NewTextHandler(&log, nil))))
		s.Refuse(errors.New("refused"))
		f := follow(t.Context(), t, c, things, "a")
		f.failed(resource.ErrTransport)
		f.o.Stop()
		pass(5 * time.Minute)
		if found := lines(log.String(), "unreachable"); len(found) != 2 || !strings.Contains(found[1], "no longer needed") {
			t.Errorf("lines = %q, want one of the outage and one of its end", found)
		}
	})
}
