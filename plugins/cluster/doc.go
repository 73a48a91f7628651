// Package cluster is the resource type envoy.config.cluster.v3.Cluster (CDS). It describes
// how to find the endpoints of one cluster and how to balance calls over them.
//
// # Discovery
//
// Endpoints come from a ClusterLoadAssignment (EDS, gRFC A27), from DNS (LOGICAL_DNS), or
// from other clusters (aggregate, A37). Other discovery types are rejected. An [Update]
// refers to the resources that have its endpoints. A cluster with an old-style name can
// leave the name of its ClusterLoadAssignment empty; its own name is then used. A cluster
// with an xdstp name must set it (A47).
//
// # Load balancing
//
// The LB policy comes from load_balancing_policy (A52), or from lb_policy if the former is
// not set. It is rendered as in gRPC's service config. The first registered policy of the
// list is used. It is an error if none is registered.
//
// # Security
//
// A transport socket configures TLS by certificate provider instances of the bootstrap
// (A29), optionally inside a transport socket for HTTP proxies (A86). Any other transport
// socket is rejected. So are settings that would make connections less secure than the
// control plane wants.
//
// # Other proxies
//
// Profile [resource.Envoy] accepts every cluster that other proxies accept. A field is nil
// or empty if it cannot represent the setting. [Update.Proto] has the whole message.
//
// The page docs/types/cluster.md lists the fields with their sources and defaults, and the rules.
package cluster

//go:generate go tool xdsgen resource.yaml
