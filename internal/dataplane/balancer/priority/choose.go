// Package priority is the policy that uses the first usable child of several (gRFC A56). The tree
// has it twice: above the leaf clusters of an aggregate cluster (A75), and above the priorities of
// a cluster.
package priority

import "google.golang.org/grpc/connectivity"

// A view has the properties of a child that a choice depends on.
type view struct {
	exists bool
	state  connectivity.State
	// trying says that the failover timer runs and the child may still connect.
	trying bool
}

// A choice is the result of choose.
type choice struct {
	// use is the index of the child whose picker is used.
	use int
	// create says that the child must be created first.
	create bool
	// active is the number of children that are needed.
	active int
	// deactivate says that the others must be deactivated.
	deactivate bool
}

// choose implements gRFC A56's algorithm. The children are in order of preference, and there is at
// least one.
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
