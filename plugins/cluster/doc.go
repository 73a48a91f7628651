// Package cluster is the resource type envoy.config.cluster.v3.Cluster (CDS):
// how the calls of one cluster find their endpoints and are spread over them.
//
// Read so far are clusters whose endpoints come from EDS (gRFC A27). A cluster
// of another kind is rejected, and so is an LB policy beyond round robin, ring
// hash (A42) and least request (A48). Not read, and not rejected, are transport
// sockets (A29), outlier detection (A50), and load_balancing_policy (A52), by which
// newer control planes say what lb_policy cannot: [Update.Proto] has them.
//
// An [Update] refers to the ClusterLoadAssignment that has its endpoints. A
// cluster with an old-style name that names none means the one of its own name;
// one with an xdstp name must name it (A47).
package cluster

//go:generate go tool xdsgen resource.yaml
