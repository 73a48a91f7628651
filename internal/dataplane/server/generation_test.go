package server

import (
	"slices"
	"testing"
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
