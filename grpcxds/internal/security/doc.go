// Package security is the TLS that the control plane wants for connections (gRFC A29): the
// certificate providers behind it, and what handshakes go by.
//
// [Providers] run one provider for each instance of the bootstrap, kind and certificate that
// something uses, and end it when nothing does. A [Server] is the TLS of one filter chain,
// a [Cluster] that of one cluster; every handshake takes what the providers have at that
// moment, so that certificates change without a connection being dropped. Material that is
// not there yet is waited for, as long as the handshake may last.
package security
