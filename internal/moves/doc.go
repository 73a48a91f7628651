// Package moves tests that no call fails while routes move from one cluster to another.
//
// Channels of grpc-go and of package grpcxds call without pause. One commit moves their route to another cluster, changes
// that cluster, and deletes the first. The channels are clients of a server, and of relays in front of it. `make moves`
// runs 500 moves.
package moves
