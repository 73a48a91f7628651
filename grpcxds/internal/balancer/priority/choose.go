// Package priority is the policy that uses the first of several children that is any good
// (gRFC A56). It stands twice in the tree: above the clusters that an aggregate cluster
// comes to (A75), and above the priorities of a cluster.
package priority

import "google.golang.org/grpc/connectivity"

// A view is what a choice needs to know of a child.
type view struct {
	exists bool
	state  connectivity.State
	// trying says that the failover timer runs: wait for this child.
	trying bool
}

// A choice says what to do about the children.
type choice struct {
	// use is the child whose picker is used.
	use int
	// create says that use is not there yet.
	create bool
	// active is how many children are needed: those that were looked at.
	active int
	// deactivate says that the others are not.
	deactivate bool
}

// choose is gRFC A56's algorithm for choosing among children, best first, of which there is
// at least one.
func choose(children []view) choice {
	for i, c := range children {
		switch {
		case !c.exists:
			return choice{use: i, create: true, active: i}
		case c.state == connectivity.Ready || c.state == connectivity.Idle:
			return choice{use: i, active: i + 1, deactivate: true}
		case c.trying:
			return choice{use: i, active: i + 1}
		}
	}
	for i, c := range children {
		if c.state == connectivity.Connecting {
			return choice{use: i, active: len(children)}
		}
	}
	return choice{use: len(children) - 1, active: len(children)}
}
