// Package server implements an xDS-enabled gRPC server (gRFC A36).
//
// A [Port] is one listening socket. The socket stays open while the port serves. The port hands accepted connections
// to the current generation, which serves one accepted Listener resource. A generation has a grpc.Server for each
// filter chain that has had a connection. A call therefore knows its filter chain without a lookup. A generation ends
// with the GracefulStop of its servers.
package server
