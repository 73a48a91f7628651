// Package pool keeps the HTTP connections of a Transport. It is to an LB tree of gRPC's balancer types what grpc.ClientConn
// is to it: a [Tree] is its balancer.ClientConn, and a [SubConn] has the connections to one endpoint.
//
// # States
//
// A SubConn is READY as long as it has a connection that is open. It opens one when the LB policy connects it, and more
// when requests need them. Without a connection it is IDLE, or TRANSIENT_FAILURE for the back-off after a failed attempt.
//
// # Locks
//
// The state hook of an http.ClientConn may run within each method that changes it, and takes the lock of the SubConn.
// Therefore no such method is called under that lock. A connection of HTTP/2 has the hook only from the time when the pool needs
// it (ADR 317).
package pool
