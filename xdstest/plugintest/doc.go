// Package plugintest is the conformance kit that every resource type passes.
// Generated packages have a test that calls [Run]; nothing in the kit is for
// first-party types only.
//
// # Cases
//
// Run reads testdata/*.txtar of the package under test. A case is one resource
// and what becomes of it:
//
//	Anything up to the first file says what the case is about.
//	-- resource.json --
//	{"name": "checkout", "type": "STATIC"}
//	-- want --
//	type = STATIC; must be EDS
//
// resource.json is the message in protobuf's JSON form. want is "ok", or the
// exact violations, one a line, in their order. Two more files may be there:
//
//	-- name --
//	xdstp://east.example/envoy.config.cluster.v3.Cluster/checkout
//	-- refs --
//	envoy.config.endpoint.v3.ClusterLoadAssignment checkout
//
// name is the name under which the resource arrives, by default the one that it
// carries. refs are the refs of the update, one a line, in their order.
//
// # Laws
//
// Beside its verdict, every case is held to the laws that the framework relies
// on: an update gives back its bytes, name and message; two decodes of the same
// bytes are equal, and a change to any field makes them unequal; the name that
// is read without decoding is the message's own; and no bytes, however mutated
// or cut off, make a decoder panic. Mutations are the same in every run.
//
// Every case is also watched with a real client, over a control plane in memory.
// A valid resource must come out of Watch, Get, Lookup and All as one and the same
// update, and stay when an unreadable version follows it. For an invalid one, the
// rejection that the control plane receives must have every violation, with path
// and value.
//
// Resources that are inlined in others are read by types of the kit's own that
// accept any message, so that no plugin needs another for its tests.
package plugintest
