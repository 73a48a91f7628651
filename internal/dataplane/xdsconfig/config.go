// Package xdsconfig makes the configuration of a data-plane target as one consistent value (gRFC
// A74). The resolver gives it to the LB policies, so that no call sees half of a change.
//
// A [Watcher] makes it from the target's Listener, its routes, their clusters and the clusters'
// endpoints. It delivers a [Config] once each of them is known, or known to be missing. A missing
// resource makes only the calls fail that need it.
package xdsconfig

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Config is the whole configuration of a channel. It is immutable.
//
// Without a usable listener or route, only Targets, Clusters and Plugins are set. They have the
// entries that calls in flight still need.
type Config struct {
	Listener *listener.Update
	Route    *route.Update
	// VirtualHost is the virtual host in Route for the channel's data-plane authority.
	VirtualHost *route.VirtualHost
	// Targets are the sorted names of the clusters that calls can be sent to: those of the virtual
	// host's routes, and those of [Watcher.Subscribe]. All are in Clusters.
	Targets []string
	// Plugins are the LB policies of the cluster specifier plugins that calls can be sent to. The
	// keys are those of [PluginTarget].
	Plugins map[string]resource.LBConfig
	// Clusters has the clusters of routes, aggregates and calls, by their names as the resources
	// write them.
	Clusters map[string]Cluster
}

const pluginPrefix = "cluster_specifier_plugin:"

// PluginTarget returns the name that stands for a cluster specifier plugin in place of a cluster.
// By the convention of gRPC, no cluster may have such a name.
func PluginTarget(plugin string) string { return pluginPrefix + plugin }

// A Cluster is the state of one cluster. Either Err is set, or Update and one of the three ways of
// discovery.
type Cluster struct {
	// Err is the reason why the cluster, or every leaf of an aggregate, is unusable.
	Err    error
	Update *cluster.Update
	// Leaves are the names of an aggregate's leaf clusters, in order of preference (A37). It is nil
	// if the cluster is not an aggregate. They are in Config.Clusters.
	Leaves []string
	// Localities and Drops configure the calls of a leaf. They come from the EDS resource. DNS
	// gives one locality of one endpoint with all addresses (A61). Without localities, Note has the
	// reason.
	Localities []endpoint.Locality
	Drops      []endpoint.Drop
	// Note is added to errors of the endpoints. It has the newest errors of the resources that the
	// cluster depends on, or else the node ID (A88). With endpoints these errors are ambient. It is
	// not nil for a leaf.
	Note error
}
