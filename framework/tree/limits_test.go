package tree_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// References that change before their resources arrive leave no subscription behind. This holds
// with and without a snapshot, and above the limit.
func TestReferencesThatChangeLeaveNothing(t *testing.T) {
	for _, first := range []string{"here", "absent"} {
		in(t, func(w *world) {
			w.cluster("here", "e")
			w.endpoints("e")
			w.route("r", first)
			ctx, cancel := context.WithCancel(w.t.Context())
			defer cancel()
			w.watch(ctx, "r", tree.WithLimit(4))
			for i := range 30 {
				<-time.NewTimer(time.Second).C
				synctest.Wait()
				clusters := []string{fmt.Sprint("absent", i)}
				if i%10 == 9 {
					clusters = append(clusters, "x", "y", "z")
				}
				w.route("r", clusters...)
				<-time.NewTimer(time.Second).C
				synctest.Wait()
				if got := w.server.Subscribed(); len(got) > 5 {
					w.t.Fatalf("change %d: subscribed to %q; want the route, the newest cluster, and the last snapshot", i, got)
				}
			}
		})
	}
}

// A countingClient ends the context during the walk's subscriptions.
type countingClient struct {
	resource.Base
	resource.Source

	count  int
	cancel func()
}

func (c *countingClient) Subscribe(t *resource.Descriptor, name string, f func(next, last resource.State)) (func(), error) {
	c.count++
	if c.count == 3 {
		c.cancel()
	}
	return c.Source.Subscribe(t, name, f)
}

// A walk ends with the context of the watch.
func TestContextEndsAWalk(t *testing.T) {
	in(t, func(w *world) {
		var clusters []string
		for i := range 1000 {
			clusters = append(clusters, fmt.Sprint("c", i))
		}
		w.route("r", slices.Clone(clusters)...)
		ctx, cancel := context.WithCancel(w.t.Context())
		defer cancel()
		c := &countingClient{Source: w.client, cancel: cancel}
		c.Base = resource.NewBase(c)
		for ev := range tree.Watch(ctx, c, route.Type(), "r") {
			w.t.Errorf("a snapshot of absent clusters: %v", ev)
		}
		if c.count != 3 {
			w.t.Errorf("the walk subscribed to %d clusters; want it to end with the third", c.count)
		}
	})
}
