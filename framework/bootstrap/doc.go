// Package bootstrap reads the configuration that an xDS client starts from: the
// servers of each authority, who this node is, and how listener names are made.
// The format is gRPC's (gRFC A27), with what A29, A30, A36, A47, A65, A71, A81,
// A88 and A97 added to it. The package does no I/O but reading the file.
//
// # Where it comes from
//
// [Load] does what gRPC does: the file that GRPC_XDS_BOOTSTRAP names, else the
// content of GRPC_XDS_BOOTSTRAP_CONFIG. Both are read when Load is called, so a
// program may set them. [LoadFile], [Parse] and [New] need no environment. They
// all end in the same validation, and report every problem at once, each as an
// [*Error] that says where: use errors.As, or Unwrap() []error.
//
// Unknown fields are ignored (A27), and a field that is null is as if it were
// absent. A [Config] and the [Server] entries in it are immutable and safe for
// concurrent use.
//
// # Servers
//
// A [Server] is A47's XdsServer: the one type for a server entry, wherever it
// stands. [Config.ParseServer] reads it from the configuration of an LB policy exactly as
// [Parse] does from the file. Of the channel credentials, the first type that the
// program supports is used; a list without one is an error (A27, A97). Of the call
// credentials all supported types are used (A97). What this package knows of the
// configurations of "tls" (A65) and "jwt_token_file" (A97) is checked.
//
// [Server.Key] identifies a server: equal keys, one channel. It covers all that
// makes two servers different. [Config.HasServer] is the rule that A47 sets for
// load reports: only to servers that are in the bootstrap.
//
// # Names and authorities
//
// [Config.ParseName], [Config.ClientListenerName] and [Config.ServerListenerName]
// make resource names as A47 says, and [Config.ServersFor] finds who serves a
// name. Names are resolved when they are used: an authority that no target and no
// resource refers to may be missing from the file, but what is in the file must be
// well-formed, templates included.
//
// # Federation switched off
//
// With [WithFederation](false), or GRPC_EXPERIMENTAL_XDS_FEDERATION set to exactly
// "false", the fields that A47 adds are not looked at, whatever they contain: they
// "will be ignored and will behave as if the fields are not set". All names are
// old-style names, and the server template is expanded as in A36, with no
// percent-encoding. Unset or with any other value, federation is on.
//
// # What the client adds
//
// [Config.Node] is what the file says, no more. The user agent and the client
// features are the client's to add (A27).
package bootstrap
