// Package tlscontext reads the TLS contexts of clusters and listeners for gRPC's security (gRFCs
// A29, A82, A86, A101). Certificates come only from provider instances that the bootstrap names.
//
// An unsupported field is an error if ignoring it would make a connection less secure than the
// control plane wants. The error is a [*resource.ValidationError] with paths below the message.
package tlscontext
