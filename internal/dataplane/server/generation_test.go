package server

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// recorded is a routing that records its release.
type recorded struct {
	name     string
	released *[]string
}

func (r recorded) Describe() (string, error) { return r.name, nil }
func (r recorded) Release()                  { *r.released = append(*r.released, r.name) }

// Routes are released once: when others replace them, and at the end of their generation.
func TestRoutesAreReleased(t *testing.T) {
	for _, end := range []func(*generation[recorded]){
		func(g *generation[recorded]) { g.stop() },
		func(g *generation[recorded]) { g.drain(time.Minute) },
		func(g *generation[recorded]) { g.drain(0); g.stop() },
	} {
		var released []string
		routes := func(name string) table[recorded] {
			return table[recorded]{new(listener.FilterChain): recorded{name, &released}}
		}
		g := (&Port[recorded]{lis: listenerAt{}, config: new(Config)}).newGeneration(nil, routes("first"))
		g.route(routes("second"))
		if want := []string{"first"}; !slices.Equal(released, want) {
			t.Errorf("released %q after the first routes are replaced; want %q", released, want)
		}
		end(g)
		g.route(routes("late"))
		if want := []string{"first", "second", "late"}; !slices.Equal(released, want) {
			t.Errorf("released %q after the end; want %q", released, want)
		}
	}
}

// A busyChain has calls until it is stopped.
type busyChain struct{ stopped chan struct{} }

func (busyChain) Serve(net.Conn) bool              { return false }
func (busyChain) Route(recorded)                   {}
func (c busyChain) Drain()                         { <-c.stopped }
func (c busyChain) Stop()                          { close(c.stopped) }
func (busyChain) Connections() (open int64, h int) { return 1, 0 }

// TestGrace expects draining to take the grace period when calls do not end: none with a period of 0, and no limit with a
// negative one.
func TestGrace(t *testing.T) {
	if DefaultGrace != 10*time.Minute {
		t.Errorf("DefaultGrace = %v, want 10m0s (A36)", DefaultGrace)
	}
	for grace, want := range map[time.Duration]time.Duration{0: 0, time.Minute: time.Minute, -1: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := &chain[recorded]{Chain: busyChain{make(chan struct{})}, release: func() {}}
			g := &generation[recorded]{chains: map[*listener.FilterChain]*chain[recorded]{new(listener.FilterChain): c}}
			if grace < 0 {
				time.AfterFunc(time.Hour, c.Stop)
			}
			begun := time.Now()
			g.drain(grace)
			if took := time.Since(begun); took != want {
				t.Errorf("a grace period of %v took %v, want %v", grace, took, want)
			}
		})
	}
}
