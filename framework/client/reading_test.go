package client_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// newSlowThings is a client of two types and its control plane. Resources whose tag is a
// duration take that long to decode.
func newSlowThings(t *testing.T) (c *client.Client, s *memoryads.Server, one, two *resource.Descriptor) {
	t.Helper()
	list := make([]*resource.Descriptor, 2)
	for i, name := range []string{"test.One", "test.Two"} {
		typ := *things
		typ.Name, typ.Collection = name, ""
		typ.Decode = func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			_, tag, _ := strings.Cut(string(body), "|")
			if d, err := time.ParseDuration(tag); err == nil {
				<-time.NewTimer(d).C
			}
			return things.Decode(dc, body)
		}
		list[i] = &typ
	}
	one, two = list[0], list[1]
	s = memoryads.NewServer(memoryads.Type{URL: one.URL()}, memoryads.Type{URL: two.URL()})
	types, err := resource.NewSet(one, two)
	if err != nil {
		t.Fatal(err)
	}
	spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1")}}
	if c, err = newWith(config(t, spec), types, withTransport(memoryads.Network{"memory:1": s}), withoutWatcherBudget()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, s, one, two
}

// A response that takes long to decode stops the does-not-exist timers: of the resource
// that is in it, of others of its type, and of those behind it.
func TestTimersWaitForAResponseThatIsDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, one, two := newSlowThings(t)
		s.Set(one.URL(), thing("slow", "40s"))
		states := func(when string, want ...string) {
			t.Helper()
			picture, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range picture.Resources {
				if r.State != want[i] {
					t.Errorf("%s: %s is %s, want %s", when, r.Name, r.State, want[i])
				}
			}
		}
		follow(t.Context(), t, c, one, "absent")
		follow(t.Context(), t, c, one, "slow")
		follow(t.Context(), t, c, two, "behind")
		pass(5 * time.Second) // no timer is due before
		s.Set(two.URL(), thing("behind", "1"))
		follow(t.Context(), t, c, one, "late")
		pass(34 * time.Second)
		states("while it is decoded", "REQUESTED", "REQUESTED", "REQUESTED", "REQUESTED")
		pass(2 * time.Second)
		states("when it is applied", "REQUESTED", "REQUESTED", "ACKED", "ACKED")
		pass(13 * time.Second)
		states("before the time is over that was left", "REQUESTED", "REQUESTED", "ACKED", "ACKED")
		pass(2 * time.Second)
		states("when it is over", "DOES_NOT_EXIST", "DOES_NOT_EXIST", "ACKED", "ACKED")
	})
}

// The time in which a response is decoded does not count either if no timer would have
// ended in it. A second response, and a timer that starts while one is decoded, are no
// different.
func TestTimersAreLongerByDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, one, _ := newSlowThings(t)
		s.Set(one.URL(), thing("slow", "10s"))
		absent := follow(t.Context(), t, c, one, "absent")
		slow := follow(t.Context(), t, c, one, "slow")
		began := time.Now()
		pass(time.Second)
		follow(t.Context(), t, c, one, "another")
		pass(10 * time.Second)
		s.Set(one.URL(), thing("slow", "5s"))
		slow.value("5s")
		absent.failed(resource.ErrNotFound)
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("the resource does not exist after %v, want 15 s and the 15 s of decoding", d)
		}
	})
}

// The client pauses between responses that repeat known content. Timers run during these
// pauses: a control plane that sends all the time cannot delay the report of an absent resource.
func TestTimersRunWhileReadingIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, one, _ := newSlowThings(t)
		s.Set(one.URL(), thing("known", "1"))
		absent := follow(t.Context(), t, c, one, "absent")
		follow(t.Context(), t, c, one, "known").value("1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var flood sync.WaitGroup
		flood.Go(func() {
			for ctx.Err() == nil {
				s.Set(one.URL(), thing("known", "1"))
				<-time.NewTimer(900 * time.Microsecond).C // faster than the client reads
			}
		})
		began := time.Now()
		absent.failed(resource.ErrNotFound)
		if d := time.Since(began); d > 16*time.Second {
			t.Errorf("the resource does not exist after %v, want 15 s", d)
		}
		cancel()
		flood.Wait()
	})
}

// A timer that is due while a response is decoded waits, although nobody asks for anything.
func TestTimerThatIsDueWhileAResponseIsDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, one, _ := newSlowThings(t)
		s.Set(one.URL(), thing("slow", "1m"))
		absent := follow(t.Context(), t, c, one, "absent")
		follow(t.Context(), t, c, one, "slow")
		began := time.Now()
		absent.failed(resource.ErrNotFound)
		if d := time.Since(began); d != 75*time.Second {
			t.Errorf("the resource does not exist after %v, want 15 s and the minute of decoding", d)
		}
	})
}
