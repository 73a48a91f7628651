// Package lbpolicy has the LB policies that gRPC knows, as the load_balancing_policy
// of clusters configures them (gRFC A52): round_robin, ring_hash (A42, A76),
// least_request (A48), pick_first (A62), weighted_round_robin (A58),
// random_subsetting (A68) and, around those, xds_wrr_locality.
//
// Policies without children are also known by their names in gRPC, by which a TypedStruct
// configures them.
//
// They are validated and rendered as gRPC's service config has them; what runs them
// is elsewhere. A policy of a program's own, configured by a TypedStruct, is one call:
//
//	reg.Extend(&resource.LBPolicy{Config: "myorg.MyCustomLb"})
package lbpolicy
