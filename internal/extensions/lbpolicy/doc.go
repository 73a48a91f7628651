// Package lbpolicy has the LB policies that gRPC supports in the load_balancing_policy of clusters
// (gRFC A52). They are round_robin, ring_hash (A42, A76), least_request (A48), pick_first (A62),
// weighted_round_robin (A58, A114) and random_subsetting (A68). The policy xds_wrr_locality wraps one of
// these.
//
// A TypedStruct can configure a policy without children by its gRPC name.
//
// This package validates the policies and renders them as in gRPC's service config. The
// balancers are in other packages. A program registers its own policy, configured by a
// TypedStruct, with one call:
//
//	reg.Extend(&resource.LBPolicy{Config: "myorg.MyCustomLb"})
package lbpolicy
