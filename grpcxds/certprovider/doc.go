// Package certprovider has the certificate provider plugins that run (gRFC A29). The instances in a bootstrap's
// certificate_providers get their certificates from them.
//
// A [Plugin] has two halves, like an HTTP filter. One validates the configuration of an instance, so that the client
// NACKs a resource that names an invalid instance. The other starts a provider. [FileWatcher] is built in.
// [FromBuilder] adapts a plugin that was made for grpc-go.
package certprovider
