// Package xdsconfig is the configuration of a data-plane target as one consistent value
// (gRFC A74): what the resolver tells its LB policies, so that no call sees half of a change.
package xdsconfig

import (
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Config is all that a channel goes by. It is immutable.
type Config struct {
	Listener *listener.Update
	Route    *route.Update
	// VirtualHost is the one of Route for the channel's data-plane authority.
	VirtualHost *route.VirtualHost
	// Clusters are those that routes, aggregates and calls refer to, by their names as the
	// resources write them.
	Clusters map[string]Cluster
}

// A Cluster is what is known of one cluster. Either Err is set, or Update and one of the
// three ways of discovery.
type Cluster struct {
	// Err says why there is no usable cluster, or no usable leaf of an aggregate.
	Err    error
	Update *cluster.Update
	// Leaves are the names of the clusters that an aggregate comes to, first choice first;
	// nil: it is not an aggregate (A37). They are in Config.Clusters.
	Leaves []string
	// Localities and Drops are where the calls of a leaf go: what the EDS resource says, or
	// what DNS does, as one locality of one endpoint with all addresses (A61). Without
	// localities, Note says why.
	Localities []endpoint.Locality
	Drops      []endpoint.Drop
	// Note is the newest trouble with the endpoints; beside endpoints it is ambient (A88).
	Note error
}
