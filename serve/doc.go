// Package serve is an xDS server: the other half of a client. It serves the resources of sources by
// both variants of the protocol, to clients in any language. The aggregated discovery service and the
// discovery services of single types are supported.
//
//	store := source.NewMemory()
//	s, err := serve.New(types, map[string]source.Source{"": publish.NewChecked(store, types)})
//	g := grpc.NewServer(serve.ServerOptions()...)
//	s.Register(g)
//	err = g.Serve(listener)
//
// Wildcards, glob collections and list collections of xRFC TP1, aliases, TTLs with heartbeats, and the
// errors of xRFC TP3 are supported. A client that does not read costs no more than its names, and
// receives the newest state when it reads. After a reconnection, a client of the delta protocol
// receives only what is different.
//
// # Clients that are not trusted
//
// [Limits] bound the work and memory that a client can cause. With mutual TLS, [WithPermissions] restricts
// clients by their certificates to some types and authorities. [Server.Clients] shows the state of each
// stream.
//
// # Sources that fail
//
// A source that is down does not remove anything: the server goes on with the resources that it has.
// With [WithMaxStaleness], it ends the streams after a while, so that clients fall back.
package serve
