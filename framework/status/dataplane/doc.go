// Package dataplane describes gRPC channels and servers that control planes configure, at one moment:
// the LB tree of a channel with its endpoints, and the ports of a server with their connections.
//
// [github.com/xdsforge/xdsforge.Env.Targets] and [github.com/xdsforge/xdsforge.Env.Servers] return the
// values. They share no mutable state with channels and servers. Each prints as one line, and its JSON
// is complete.
package dataplane
