// Package grpcxds has gRPC servers and channels configured by control planes, on
// grpc-go's public API.
//
// # Channels
//
// [NewClient] is grpc.NewClient for targets with the scheme xds, in each form of gRFC A47:
//
//	cc, err := grpcxds.NewClient("xds://east.example/checkout",
//		grpc.WithTransportCredentials(grpcxds.TransportCredentials(insecure.NewCredentials())))
//
// What it returns is gRPC's own ClientConn. Its calls take the routes, timeouts, retries,
// HTTP filters and clusters that control planes say, and go to endpoints by gRPC's LB
// policies and any that the program registers. A configuration is used when it is complete
// (A74); calls in flight stay with the one that they began with. The error of a call that cannot
// be made names the target, the resource, the control plane and the node. That includes a call
// whose deadline comes while the control plane has not answered.
//
// A channel connects to the endpoints of a cluster when the first call is sent there, and
// stays connected as long as routes name the cluster. Until then it is IDLE.
// ClientConn.Connect has it get its configuration, and connects one cluster if none is.
//
// [DialOptions] are for those who dial themselves, [RegisterResolver] for those who do not.
// Nothing is registered for the scheme but by the latter; the one LB policy that has to be
// known to gRPC has a name of its own.
//
// # Servers
//
// [NewServer] takes the place of grpc.NewServer (gRFC A36). What a server does at an address
// is in a Listener resource whose name the bootstrap's template makes: which filter chain a
// connection gets, whether it has TLS (with [ServerCredentials]), which calls are taken, and
// what HTTP filters they go through. Until there is one the server closes connections
// without a byte. Another Listener takes over new connections, while the calls of the old
// ones go on until they end, or for the time of [DrainGrace].
//
// # Pools
//
// A [Pool] is what several servers and channels share: the bootstrap, the resource types,
// the HTTP filters, the connections to control planes. Programs with one server or
// channel need none.
package grpcxds
