// Package grpcxds has gRPC servers and channels configured by control planes, on
// grpc-go's public API.
//
// # Pools
//
// A [Pool] is what several servers and channels share: the bootstrap, the resource types,
// the HTTP filters, the connections to control planes. Programs with one server or
// channel need none.
package grpcxds
