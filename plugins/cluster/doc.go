// Package cluster is the resource type envoy.config.cluster.v3.Cluster (CDS): how
// the calls of one cluster find their endpoints and are spread over them.
//
// # Discovery
//
// Endpoints come from a ClusterLoadAssignment (EDS, gRFC A27), a name to resolve
// (LOGICAL_DNS) or other clusters (aggregate, A37); a cluster of another kind is
// rejected. An [Update] refers to whatever has its endpoints. A cluster with an
// old-style name that names no ClusterLoadAssignment means the one of its own name;
// one with an xdstp name must name it (A47).
//
// # Load balancing
//
// load_balancing_policy (A52), or lb_policy where that is not there, is rendered in
// gRPC's terms. The policies in question are the registered ones; the first that is
// known counts, and it is an error when none is.
//
// # Security
//
// A transport socket is TLS by certificate provider instances of the bootstrap
// (A29), perhaps within one that uses HTTP proxies (A86). Any other is rejected, as is
// what would make connections less secure than the control plane wants.
//
// # Other proxies
//
// In [resource.Envoy], what other proxies accept is accepted; fields are then nil or
// empty where they have no value for it, and [Update.Proto] has it.
package cluster

//go:generate go tool xdsgen resource.yaml
