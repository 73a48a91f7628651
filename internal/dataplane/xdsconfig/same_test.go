package xdsconfig_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A repeatingClient can send its subscribers the newest state again, as if from another server.
type repeatingClient struct {
	resource.Base
	resource.Source

	t  *testing.T
	mu sync.Mutex
	// again has the functions that repeat a state.
	again map[string]func()
}

func (c *repeatingClient) Subscribe(t *resource.Descriptor, name string, f func(next, last resource.State)) (func(), error) {
	return c.Source.Subscribe(t, name, func(next, last resource.State) {
		f(next, last)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.again[t.ShortName()] = func() {
			if next.Update == nil {
				return
			}
			fallback, err := bootstrap.ParseServer([]byte(`{"server_uri": "fallback", "channel_creds": [{"type": "insecure"}]}`))
			if err != nil {
				c.t.Fatal(err)
			}
			dc := &resource.DecodeContext{Name: next.Update.Name(), Version: next.Update.Version(), Server: fallback, Types: c.Types()}
			u, err := t.Decode(dc, slices.Clone(next.Update.Raw()))
			if err != nil {
				c.t.Fatal(err)
			}
			f(resource.State{Update: u, Origin: resource.OriginFallback}, next)
		}
	})
}

// TestEqualResourcesOfAnotherServer expects no configuration if a fallback server sends equal
// resources.
func TestEqualResourcesOfAnotherServer(t *testing.T) {
	in(t, "", func(w *world) {
		w.watcher.Close()
		c := &repeatingClient{Source: w.client, t: t, again: make(map[string]func())}
		c.Base = resource.NewBase(c)
		repeated, news := w.limited(c, 0)
		defer repeated.Close()
		w.listener(fmt.Sprintf("route_config { %s }", hosts("a")))
		w.eds("a", "")
		w.endpoints("a", 1)
		repeated.Start()
		w.settle()
		if n := len(news); n != 1 {
			t.Fatalf("%d configurations, want 1", n)
		}
		if len(c.again) != 3 {
			t.Fatalf("%d resources, want listener, cluster and endpoints", len(c.again))
		}
		for _, again := range c.again {
			again()
		}
		w.settle()
		if n := len(news); n != 1 {
			t.Errorf("%d configurations after the same resources of another server, want 1", n)
		}
	})
}
