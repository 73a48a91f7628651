// Package rpcinfo carries what was decided for a call, when its route was chosen, to the
// pickers of the LB policies, which see no more of it than its context.
package rpcinfo

import "context"

// A Call is what pickers go by. It belongs to whoever starts the call, who must not change
// it while the call may still be picked for.
type Call struct {
	// Cluster is the child of the top policy that picks: the name of a cluster as routes
	// write it, or the key of a cluster specifier plugin (gRFC A28).
	Cluster string
	// Hash places the call on a ring, if HasHash (gRFC A42).
	Hash    uint64
	HasHash bool
	// AutoHostRewrite asks for the hostname of the endpoint as the call's authority: the
	// route wants it, and comes from a server that may say so (gRFC A81).
	AutoHostRewrite bool
}

type key struct{}

// With returns a context with which a call is made that pickers are to know.
func With(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// From returns what [With] put into a context; nil: nothing.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(key{}).(*Call)
	return c
}
