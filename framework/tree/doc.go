// Package tree follows references from one resource to all that it needs: from a
// listener to its routes, from there to clusters, and to their endpoints (gRFC A74's
// idea, for resources of any registered types).
//
//	for ev := range tree.Watch(ctx, c, listener.Type(), "web") {
//		// ev.Update has the listener and the resources that it refers to, directly or not
//	}
//
// # Consistency
//
// A [Snapshot] is complete: each resource that one of its resources refers to is in it,
// or the reason why there is none. When a resource changes and refers to others from
// then on, the last snapshot stays the newest one until all of these are there or known
// not to be; what it has is watched until then. So a change is seen with all that
// comes with it, or not at all. A resource that is missing harms only what needs it;
// without the root, there is no snapshot.
//
// # Shape
//
// References may lead to one resource from several, and round in circles: each is in
// the snapshot once. [WithFollow] chooses which are followed, [WithLimit] bounds how
// many resources a control plane can make a client watch.
package tree
