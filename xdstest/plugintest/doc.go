// Package plugintest is the conformance kit for resource types. The tests of generated packages call [Run]. The kit
// treats first-party types like any others.
//
// # Cases
//
// Run reads testdata/*.txtar of the package under test. A case is one resource and the expected result:
//
//	Anything up to the first file says what the case is about.
//	-- resource.json --
//	{"name": "checkout", "type": "STATIC"}
//	-- want --
//	type = STATIC; must be EDS
//
// resource.json is the message in protobuf's JSON form. want is "ok", or the exact violations, one per line, in
// order. Two more files are optional:
//
//	-- name --
//	xdstp://east.example/envoy.config.cluster.v3.Cluster/checkout
//	-- refs --
//	envoy.config.endpoint.v3.ClusterLoadAssignment checkout
//
// name is the name under which the client receives the resource. The default is the name in the message. refs are the
// refs of the update, one per line, in order.
//
// The argument update writes the file want of each case from the result of the decoder. Review the changes:
//
//	go test ./flags -args update
//
// # Laws
//
// Every case is also checked against the laws that the framework relies on:
//
//   - An update returns its bytes, name and message.
//   - Two decodes of the same bytes are equal, and a change to any field makes them unequal.
//   - PeekName returns the message's name.
//   - No mutated or truncated bytes make a decoder panic. Mutations are the same in every run.
//
// A real client watches every case too, over a control plane in memory. Watch, Get, Lookup and All must return the
// same update for a valid resource, and keep it when an unreadable version follows. For an invalid resource, the
// rejection that the control plane receives must have every violation, with path and value.
//
// The kit reads inlined resources with types of its own that accept any message. A plugin's tests therefore need no
// other plugin.
package plugintest
