// Package environment has the core of [github.com/xdsforge/xdsforge.Env]: the state that the xDS
// clients, gRPC channels and gRPC servers of a program share.
//
// # References
//
// An [Env] is open as long as something refers to it: the program, until it closes the Env, and
// each [Scope]. The release of the last reference closes everything that the Env opened. A further
// [Env.Retain] opens the Env again. An idle channel can therefore always use its Env again.
//
// # The process
//
// Envs without a transport and without private connections share one pool of connections, so that
// equal server entries use one connection (gRFC A47). The pool closes with the last of these Envs.
// [Default] finds the Env for a bootstrap by the bootstrap's content.
package environment
