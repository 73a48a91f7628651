// Package router is the router filter (gRFC A39): the terminal filter that sends a
// call to what its route says. None of its fields means anything to gRPC.
package router
