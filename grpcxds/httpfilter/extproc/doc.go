// Package extproc runs the filter for external processing (gRFC A93). The filter sends the events of a call to a processor:
// headers, messages, the half-close and trailers. The processor changes them, or ends the call.
//
// The filter runs on channels and on servers.
//
// The processor implements envoy.service.ext_proc.v3.ExternalProcessor with the body send mode GRPC. A102 decides which
// processor a control plane may name; see package [github.com/xdsforge/xdsforge/framework/grpcservice].
package extproc
