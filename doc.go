// Package xdsforge is an xDS client whose resource types are plugins: code that package gen
// generates from descriptors. It also configures gRPC channels and servers, with package grpcxds.
//
// # A client
//
// [New] makes a [Client] for the resource types that [WithTypes] registers. It finds the control
// planes in the bootstrap file that the environment variable GRPC_XDS_BOOTSTRAP names (gRFC A27),
// or in the one of [WithBootstrap]. The package of a resource type has the typed functions:
//
//	c, err := xdsforge.New(xdsforge.WithTypes(cluster.Register))
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	for ev := range cluster.Watch(ctx, c, "checkout") {
//		switch {
//		case ev.Err != nil: // there is no usable resource
//		case ev.Changed: // use ev.Update from now on
//		}
//	}
//
// An Event of a watch has the update or the reason why there is none. An ambient error, which
// leaves the update valid, has a field of its own.
//
// # Environments
//
// An [Env] has a bootstrap, resource types and settings once for several clients, gRPC channels
// and gRPC servers. New makes one that belongs to its client alone. Package grpcxds makes a
// default one for each bootstrap, which all channels and servers with that bootstrap share.
//
// All Envs of a process share their connections to control planes: equal server entries use one
// connection (gRFC A47). [WithPrivateConnections] and [WithTransport] except an Env from that.
//
// An Env is freed when the program has closed it and everything that was made of it. The order
// does not matter. [Envs] lists the Envs in use, and [Env.Snapshots] describes their clients.
//
// # Errors
//
// Errors about a resource are of one of the kinds in this package, such as [ErrNotFound]. They
// name the resource, the control plane and the node. Errors of New name the option to change.
package xdsforge
