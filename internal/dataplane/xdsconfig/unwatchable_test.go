package xdsconfig_test

import "testing"

// TestUnwatchableNames expects an immediate error for names of an authority that the bootstrap does
// not have.
func TestUnwatchableNames(t *testing.T) {
	in(t, "", func(w *world) {
		const c, reason = "xdstp://nobody/envoy.config.cluster.v3.Cluster/c", `: bootstrap: authorities["nobody"] = missing; must be one of ["e"]`
		w.rds("r")
		w.eds("a", "xdstp://nobody/envoy.config.endpoint.v3.ClusterLoadAssignment/e")
		w.route(hosts("a", c))
		w.want("neither can be watched", "a "+c+": a=[]{client: watching a ClusterLoadAssignment"+reason+"} "+c+"=(client: watching a Cluster"+reason+")")
		w.route(hosts("b"))
		w.want("b has not come yet")
	})
}
