// Package environment has the core of [github.com/xdsforge/xdsforge.Env]: what the xDS clients,
// gRPC channels and gRPC servers of a program share.
//
// # References
//
// An [Env] is open as long as something refers to it: the program, until it closes the Env, and
// each [Scope]. The last reference to go closes everything that the Env opened. A further
// [Env.Retain] opens the Env again, so a channel that was idle finds its Env whatever happened
// in between.
//
// # The process
//
// Envs that have neither a transport nor private connections share one pool of connections, so
// that equal server entries use one connection (gRFC A47). The pool closes with the last of
// these Envs. [Default] finds the Env for a bootstrap, by its content.
package environment
