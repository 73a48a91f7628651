// Package server has the ports of servers that control planes configure (gRFC A36), for every protocol of calls.
//
// A [Port] is one listening socket. The socket stays open while the port serves. The port hands accepted connections
// to the current generation, which serves one accepted Listener resource. A generation has a [Chain] for each filter
// chain that has had a connection. A call therefore knows its filter chain without a lookup. A [Backend] knows the
// protocol: it compiles routes and creates chains.
package server
