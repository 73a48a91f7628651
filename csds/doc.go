// Package csds serves the state of xDS clients to operators: the Client Status Discovery Service of
// gRFC A40, as amended by A46, A71 and A88.
//
//	s := grpc.NewServer()
//	err := csds.Register(s) // all environments of the process
//
// Any client of envoy.service.status.v3.ClientStatusDiscoveryService can read it, such as grpcdebug.
// Package adminxds registers it together with channelz and health.
//
// # Contents
//
// A response has one ClientConfig for each client of the environments. Its client_scope is the
// target of gRPC channels, "#server" for gRPC servers, or the name that the program gave its own
// client. Its node is the one that the client sends. It has one generic_xds_configs entry for each
// watched resource. An entry has the state, the resource in use as received, and the reason why the
// newest version of the resource is not in use. Wildcards and globs have no entries, because they
// are not resources. Their members have entries.
//
// An unreachable control plane is no error_state: it changes no resource.
//
// # Size
//
// A response has the whole content of each resource. That of 10,000 ClusterLoadAssignments can
// exceed the 4 MiB that gRPC clients accept by default. A client can then raise
// grpc.MaxCallRecvMsgSize, or set exclude_resource_contents in the request.
//
// # Secrets
//
// Resources can contain private keys and passwords. The protobuf option udpa.annotations.sensitive
// marks such fields. The service replaces text and bytes in marked fields by "[redacted]", and clears
// other values. It looks into every google.protobuf.Any and TypedStruct whose type the program
// links. It cannot see marks in messages of other types, and sends them as received. It leaves out
// the content of a message that it cannot read. See [Config] for more.
//
// Anyone who can call the service can read the configuration. Serve it where only operators can
// reach it, such as on loopback.
//
// # Beside grpc-go's own CSDS
//
// A gRPC server can have one CSDS. grpc-go's package admin registers its own if the program links
// google.golang.org/grpc/xds, and ends the process if there is one already. So call adminxds.Register
// in place of admin.Register. To include the clients of grpc-go's own xDS in the responses, give its
// service to Config.Others.
package csds
