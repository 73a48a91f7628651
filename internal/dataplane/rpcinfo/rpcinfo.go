// Package rpcinfo carries routing decisions for a call to the pickers of the LB policies. Pickers see only the call's
// context.
package rpcinfo

import "context"

// A Call has the routing decisions of a call. The starter of the call owns it, and must not change it while a picker
// may still read it.
type Call struct {
	// Cluster selects the child of the top policy: the name of a cluster as routes write it, or the key of a cluster
	// specifier plugin (gRFC A28).
	Cluster string
	// Hash places the call on a ring, if HasHash is true (gRFC A42).
	Hash    uint64
	HasHash bool
	// AutoHostRewrite sets the call's authority to the hostname of the endpoint. The route asks for it, and comes
	// from a trusted server (gRFC A81).
	AutoHostRewrite bool
}

type key struct{}

// With returns a context that carries c to the pickers.
func With(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// From returns the Call of a context from [With], or nil.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(key{}).(*Call)
	return c
}
