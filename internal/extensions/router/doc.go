// Package router is the router filter (gRFC A39), the terminal filter that sends a call to
// the cluster of its route. gRPC ignores all of its fields.
package router
