// Package transport is the boundary between the framework and whatever carries
// its bytes to a control plane.
//
// A [Transport] makes connections, a [Conn] streams, a [Stream] sends and
// receives encoded messages.
//
// The package grpctransport implements the interfaces on grpc-go. A program
// that reaches its control plane in another way, or has it in the same process,
// implements them itself.
package transport
