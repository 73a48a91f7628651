// Package tlscontext reads the TLS contexts of clusters and listeners, as far as
// gRPC's security has use for them (gRFCs A29, A82, A86, A101): certificates come
// from provider instances that the bootstrap names, and from nowhere else.
//
// What would make a connection less secure than the control plane wants, were it
// ignored, is an error: a [*resource.ValidationError] with paths below the message.
package tlscontext
