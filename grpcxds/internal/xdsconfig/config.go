// Package xdsconfig is the configuration of a data-plane target as one consistent value
// (gRFC A74): what the resolver tells its LB policies, so that no call sees half of a change.
//
// A [Watcher] makes it of the listener of the target, its routes, their clusters and the
// endpoints of these. A [Config] is there when all that it needs is there, or known not to
// be; what is missing then harms the calls that need it, and no other.
package xdsconfig

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Config is all that a channel goes by. It is immutable.
//
// Without a usable listener or route, only Targets, Clusters and Plugins are set, and they
// have what calls in flight still need.
type Config struct {
	Listener *listener.Update
	Route    *route.Update
	// VirtualHost is the one of Route for the channel's data-plane authority.
	VirtualHost *route.VirtualHost
	// Targets are the names of the clusters that calls can be sent to, sorted: those of the
	// virtual host's routes, and those that are held (see [Holder]). All are in
	// Clusters.
	Targets []string
	// Plugins are the LB policies of the cluster specifier plugins that calls can be sent
	// to, as Targets are, by [PluginTarget].
	Plugins map[string]resource.LBConfig
	// Clusters are those that routes, aggregates and calls refer to, by their names as the
	// resources write them.
	Clusters map[string]Cluster
}

const pluginPrefix = "cluster_specifier_plugin:"

// PluginTarget is what a call that a cluster specifier plugin routes has for the name of a
// cluster; clusters must not be called so, by the convention of gRPC.
func PluginTarget(plugin string) string { return pluginPrefix + plugin }

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
	// Note is what to say beside any trouble with the endpoints: the newest trouble of the
	// resources that the cluster depends on, which beside endpoints is ambient, or else the
	// id of the node (A88). It is not nil for a leaf.
	Note error
}
