// Package grpcxds makes gRPC channels and servers that control planes configure. It uses only grpc-go's public API.
//
// # Channels
//
// [NewClient] is grpc.NewClient for targets with the scheme xds, in each form of gRFC A47:
//
//	cc, err := grpcxds.NewClient("xds://east.example/checkout",
//		grpcxds.WithCredentials(insecure.NewCredentials()))
//
// It returns gRPC's own ClientConn. Calls use the routes, timeouts, retries, HTTP filters and clusters of the control
// plane. LB policies choose the endpoints: those of gRPC, and any that the program registers. A configuration is used
// when it is complete (A74). Calls in flight keep the configuration that they started with.
//
// The error of a call that cannot be routed names the target, the resource, the control plane and the node. So does
// the error of a call whose deadline passes while the control plane has not answered.
//
// A channel connects to the endpoints of a cluster when the first call is sent to the cluster. It stays connected as
// long as routes name the cluster. Until then it is IDLE. ClientConn.Connect fetches the configuration, and connects
// one cluster if none is connected.
//
// [Dialer] has settings for channels. Programs that call grpc.NewClient themselves use [Dialer.DialOptions].
// [Dialer.RegisterResolver] is for channels whose options the program cannot set. Only RegisterResolver registers the
// "xds" scheme. The package registers one LB policy with gRPC, under a name of its own.
//
// # Servers
//
// [NewServer] replaces grpc.NewServer (gRFC A36). The Listener resource of an address configures the server there.
// The bootstrap's template makes the resource's name. The Listener sets the filter chain of a connection, whether the
// connection uses TLS (with [ServerCredentials]), which calls are accepted, and which HTTP filters they pass. Until
// there is a Listener, the server closes connections without a byte. A new Listener applies to new connections. Calls
// of the old one continue until they end, or until DrainTime of [ServerConfig] has passed.
//
// # Environments
//
// An [xdsforge.Env] has the bootstrap, the resource types, the HTTP filters and the settings that channels and
// servers share. Those that name no Env share the default Env of their bootstrap.
package grpcxds
