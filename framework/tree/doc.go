// Package tree follows the references between resources: from one resource to what it
// names, and so on, as from a listener to routes, clusters and endpoints (gRFC A74). It
// knows no resource type; what refers to what is in each update's Refs.
//
// [Watch] yields a [Snapshot] whenever anything in the tree has changed, and only when
// nothing in it is unknown: each resource is there, or it is known why it is not. When a
// route is changed to name another cluster, no snapshot has the new route before the
// cluster and its endpoints. What is no longer referred to is watched until then.
//
// A snapshot never changes, so that calls can read the last one without a lock, through
// an atomic pointer:
//
//	for s, err := range tree.Watch(ctx, c, listener.Type(), name) {
//		…
//		current.Store(s)
//	}
//
//	routes, err := tree.Get[*route.Update](s, route.Type(), "checkout")
package tree
