package client_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/feature"
)

// watchLongNames watches so many names that a request with all of them exceeds 4 MiB.
func watchLongNames(t *testing.T, c *client.Client, prefix string) {
	t.Helper()
	for i := range 2_200 {
		name := fmt.Sprintf("%s-%d-%s", prefix, i, strings.Repeat("x", 2_000))
		stop, err := c.Subscribe(things, name, func(resource.State, resource.State) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
}

// TestTooLargeRequests expects one log line for all requests that exceed the message limit of gRPC
// servers. It names the delta protocol.
func TestTooLargeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c, s := newThingsWith(t, nil, withLogger(slog.New(slog.NewTextHandler(&log, nil))))
		s.Set(things.URL(), thing("a", "1"))
		f := follow(t.Context(), t, c, things, "a")
		f.value("1")
		if found := lines(log.String(), "4 MiB"); len(found) != 0 {
			t.Errorf("lines = %q, want none before a large request", found)
		}
		for _, prefix := range []string{"first", "second"} {
			watchLongNames(t, c, prefix)
			pass(time.Second)
		}
		found := lines(log.String(), "4 MiB")
		if len(found) != 1 || !strings.Contains(found[0], "level=WARN") || !strings.Contains(found[0], feature.TransportDelta) {
			t.Errorf("lines = %.300q, want one warning that names the feature", found)
		}
		s.Set(things.URL(), thing("a", "2"))
		f.value("2")
	})
}

// TestTooLargeRequestsChangeToDelta expects the client to try delta again for a server that was
// silent in delta at first.
func TestTooLargeRequestsChangeToDelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c, s := newThingsWith(t, []any{feature.TransportAuto}, withLogger(slog.New(slog.NewTextHandler(&log, nil))))
		s.Silence(transport.MethodDeltaADS, true)
		s.Set(things.URL(), thing("a", "1"))
		f := follow(t.Context(), t, c, things, "a")
		f.value("1")
		s.Silence(transport.MethodDeltaADS, false)
		watchLongNames(t, c, "long")
		pass(time.Second)
		if found := lines(log.String(), "tries the delta protocol again"); len(found) != 1 {
			t.Errorf("lines = %.300q, want one of the change", found)
		}
		if found := lines(log.String(), `"stream ended" server=memory:1 node=node-1 error="a request exceeds 4 MiB`); len(found) != 1 {
			t.Errorf("lines = %.300q, want one of the end of the stream", found)
		}
		if n := len(s.SubscribedTo(things.URL())); n != 2_201 {
			t.Errorf("the server has %d subscriptions, want all in delta", n)
		}
		s.Set(things.URL(), thing("a", "2"))
		f.value("2")
	})
}
