// Package security secures connections with the TLS that the control plane configures (gRFC A29).
// It runs the certificate providers and makes the TLS configuration of each handshake.
//
// [Providers] run one provider for each combination of bootstrap instance, kind and certificate
// that is in use. They close a provider after its last use. A [Server] is the TLS of one filter
// chain, a [Cluster] that of one cluster. Every handshake uses the current certificates of the
// providers, so that certificates change without dropping a connection. If a provider has no
// certificates yet, a handshake waits for them until its deadline.
package security
