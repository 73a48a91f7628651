package client_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// A collection times out like a name if the control plane never answers (gRFC A57). Its watchers
// get an error, its state shows it, and the log has one line.
func TestCollectionThatIsNeverAnswered(t *testing.T) {
	for _, name := range []string{resource.Wildcard, "xdstp://e/test.Thing/all/*", "xdstp://e/test.ThingCollection/all"} {
		for _, features := range [][]any{nil, {feature.TransportDelta}} {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				c, s := newThingsWith(t, features, withLogger(slog.New(slog.NewTextHandler(&log, nil))))
				s.Silence(transport.MethodADS, true)
				s.Silence(transport.MethodDeltaADS, true)
				w := collect(t, c, name)
				pass(14 * time.Second)
				w.wants()
				pass(2 * time.Minute)
				w.wants("! does not exist")
				snapshot, err := c.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if len(snapshot.Resources) != 1 || snapshot.Resources[0].State != "DOES_NOT_EXIST" {
					t.Errorf("%s: resources = %+v", name, snapshot.Resources)
				}
				if n := strings.Count(log.String(), name); n != 1 {
					t.Errorf("%s: %d log lines, want 1:\n%s", name, n, log.String())
				}
			})
		}
	}
}
