// Package tree follows references from one resource to all resources that it needs: from a listener
// to its routes, from there to clusters, and to their endpoints. This is gRFC A74's idea for
// resources of any registered types.
//
//	for ev := range tree.Watch(ctx, c, listener.Type(), "web") {
//		// ev.Update has the listener and the resources that it refers to, directly or not
//	}
//
// # Consistency
//
// A [Snapshot] is complete: for each reference in it, it has the resource or the reason why there
// is none. If a change adds references, the last snapshot stays the newest one until each new
// resource has arrived or is known not to exist. Until then, the resources of the last snapshot
// stay watched. A reader therefore sees a change either with all its resources or not at all. A
// missing resource affects only the resources that need it. Without the root, there is no snapshot.
//
// # Shape
//
// Several resources may refer to the same one, and references may form cycles. Each resource is in
// the snapshot once. [WithFollow] selects the references to follow. [WithLimit] bounds the number
// of resources that a control plane can make a client watch.
package tree
