// Package server is what an xDS-enabled gRPC server is made of (gRFC A36).
//
// A [Port] is one listening socket, which never closes while it serves. What it accepts
// goes to the current generation, which is one accepted Listener resource. A generation
// has a grpc.Server for each of the filter chains that a connection came for, so that a
// call's filter chain is known without looking for it; it ends with their GracefulStop.
package server
