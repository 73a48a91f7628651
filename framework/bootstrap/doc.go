// Package bootstrap reads the configuration that an xDS client starts from: the servers of each
// authority, the node, and the templates of listener names. The format is gRPC's (gRFC A27), with
// the additions of A29, A30, A36, A47, A65, A71, A81, A88 and A97. The only I/O of the package is
// reading the file.
//
// # Sources
//
// [Load] follows gRPC: it reads the file that GRPC_XDS_BOOTSTRAP names, else the content of
// GRPC_XDS_BOOTSTRAP_CONFIG. It reads both variables when it is called, so a program may set them.
// [LoadFile], [Parse] and [New] need no environment. All of them share one validation. It reports
// every problem at once, each as an [*Error] with its position: use errors.As, or Unwrap() []error.
//
// Unknown fields are ignored (A27). A null field counts as absent. A [Config] and its [Server]
// entries are immutable and safe for concurrent use.
//
// # Servers
//
// A [Server] is A47's XdsServer, the one type for a server entry, wherever it appears.
// [Config.ParseServer] reads it from the configuration of an LB policy exactly as [Parse] does from
// the file. The client uses the first channel credentials whose type the program supports. A list
// without a supported type is an error (A27, A97). It uses all call credentials of supported types
// (A97). This package checks the configurations of "tls" (A65) and "jwt_token_file" (A97).
//
// [Server.Key] identifies a server: entries with equal keys share one channel. It covers every
// difference between two servers. [Config.HasServer] is A47's rule for load reports: they go only
// to servers in the bootstrap.
//
// # Names and authorities
//
// [Config.ParseName], [Config.ClientListenerName] and [Config.ServerListenerName] make resource
// names by A47's rules. [Config.ServersFor] returns the servers for a name. Names are resolved when
// they are used. The file may omit an authority that no target and no resource refers to.
// Everything in the file must be well-formed, including the templates.
//
// # Federation switched off
//
// [WithFederation](false), or GRPC_EXPERIMENTAL_XDS_FEDERATION set to exactly "false", makes the
// package ignore the fields of A47, whatever they contain. A47 says: they "will be ignored and will
// behave as if the fields are not set". All names are then old-style names. The server template is
// expanded by A36, without percent-encoding. Unset or with any other value, federation is on.
//
// # Additions of the client
//
// [Config.Node] returns only the node of the file. The client adds the user agent and the client
// features (A27).
package bootstrap
