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

// TestUnwatchableLeafIsReplaced expects the change of an aggregate cluster to hold when the version before it had a
// leaf that cannot be watched.
func TestUnwatchableLeafIsReplaced(t *testing.T) {
	in(t, "", func(w *world) {
		const c = "xdstp://nobody/envoy.config.cluster.v3.Cluster/c"
		w.rds("r")
		w.route(hosts("a"))
		w.eds("b", "e")
		w.endpoints("e", 1)
		w.aggregate("a", "b", c)
		w.settle()
		w.contains("a leaf cannot be watched", "a=b ", c+"=(client: watching a Cluster: bootstrap:")
		w.aggregate("a", "b")
		w.want("the leaf is gone", "a: a=b b=[10.0.0.1:1]"+quiet)
	})
}
