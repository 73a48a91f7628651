// Package transport is the boundary between the framework and whatever carries
// its bytes to a control plane.
//
// A [Transport] makes connections, a [Conn] streams, a [Stream] sends and
// receives encoded messages. Nothing above this package decodes a whole
// response: [ParseResponse] finds the few fields of the envelope in place, and
// [Response.Resources] walks the resources as names and bodies that alias the
// received bytes, so that a resource that did not change costs a comparison.
//
// The package grpctransport implements the interfaces on grpc-go. A program
// that reaches its control plane in another way, or has it in the same process,
// implements them itself.
package transport
