// Package certprovider has the certificate provider plugins that run (gRFC A29): what the
// instances in a bootstrap's certificate_providers get certificates from.
//
// A [Plugin] has two halves, like an HTTP filter: one that says whether the configuration
// of an instance is good, so that a resource which names a bad one is a NACK, and one that
// starts a provider. [FileWatcher] is built in; [FromBuilder] takes a plugin that was made
// for grpc-go.
package certprovider
