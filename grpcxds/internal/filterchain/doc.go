// Package filterchain makes chains of interceptors from a configuration's HTTP filters (gRFC A39).
//
// A [Table] has the known filters, and makes a chain for a list of filters. [ServerChain.Override] and
// [ClientChain.Override] derive a chain for a virtual host, from that a chain for a route, and from that a chain for
// a weighted cluster. A level without overrides uses the same chain. All chains are made when a configuration is
// received. A call passes the chain of its route, even if the route has no usable action. Such a call fails after the
// filters (gRFC A36).
package filterchain
