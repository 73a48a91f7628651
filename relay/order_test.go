package relay_test

import (
	"slices"
	"testing"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsmemory"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A control plane removes a resource before it changes the one that refers to it. A client of the relay hears of the
// change first.
func TestRemovalsComeAfterLaterChanges(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant)
		core, err := adsserver.New(adsserver.Config{Source: w.relay, Type: adsserver.TypesOf(w.types), RemovalPause: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = core.Close() })
		w.set("old", "1")
		w.set("route", "to old")
		c := w.newClient(xdsforge.WithTransport(adsmemory.Transport{Core: core}))
		old, _ := w.watch(c, "old")
		route, _ := w.watch(c, "route")
		old.want(t, "1")
		route.want(t, "to old")

		w.upstream.Delete(thingURL, "old")
		pass(300 * time.Millisecond)
		w.set("route", "to other")
		pass(300 * time.Millisecond)
		heard := func(l *eventLog) []string {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.Clone(l.list)
		}
		if got := heard(old); len(got) > 0 {
			t.Errorf("before the pause is over, the client hears %q of the removed resource", got)
		}
		if got := heard(route); !slices.Equal(got, []string{"to other"}) {
			t.Errorf("the client hears %q of the changed resource", got)
		}
		old.want(t, "1 beside "+resource.ErrRemoved.Error())
	})
}

// Upstream has an error in the place of the only member of a glob. Nobody says that the glob is empty.
func TestGlobOfErrors(t *testing.T) {
	each(t, func(t *testing.T, variant string) {
		w := newWorld(t, variant)
		const name = "xdstp://e/test.Thing/dir/m"
		w.upstream.Set(thingURL, memoryads.Resource{Name: name, Error: &rpcstatus.Status{Code: 14, Message: "down"}})
		l := w.collect(w.downstream(), "xdstp://e/test.Thing/dir/*")
		l.want(t, "m: "+resource.ErrUnavailable.Error())
		pass(time.Minute)
		l.want(t)
		w.set(name, "1")
		l.want(t, "m: 1")
	})
}
