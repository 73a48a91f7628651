// Package transport is the boundary between the framework and the network connection to a control
// plane.
//
// A [Transport] makes connections. A [Conn] makes streams. A [Stream] sends and receives encoded
// messages.
//
// The package grpctransport implements the interfaces with grpc-go. A program implements them
// itself if it reaches its control plane in another way, or runs it in the same process.
package transport
