package xdsconfig_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// Pending names the first resource that the watcher waits for, at each step. It is empty at the
// end.
func TestPending(t *testing.T) {
	in(t, "", func(w *world) {
		pending := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := fmt.Sprint(w.watcher.Pending()); got != want {
				t.Errorf("pending is %s; want %s", got, want)
			}
		}
		const quietly = ": no answer yet [server memory, node n]"
		pending(`Listener "l"` + quietly)
		w.rds("r")
		pending(`RouteConfiguration "r"` + quietly)
		w.route(hosts("z", "a"))
		pending(`Cluster "a"` + quietly)
		w.eds("a", "")
		pending(`Cluster "z"` + quietly)
		w.logicalDNS("z", "z.example")
		pending(`ClusterLoadAssignment "a"` + quietly)
		w.endpoints("a", 1)
		pending(`the DNS name "z.example:80" of a LOGICAL_DNS cluster: no answer yet [node n]`)
		w.dns.resolvers["z.example:80"].addresses("10.0.0.1:80")
		pending("<nil>")
		w.route(hosts("new"))
		pending(`Cluster "new"` + quietly)
		w.route(hosts("a")) // unreachable names do not count
		pending("<nil>")
		w.server.Delete(cluster.Type().URL(), "a")
		pending("<nil>")
	})
}
