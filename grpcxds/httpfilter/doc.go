// Package httpfilter is what HTTP filters do with gRPC's calls (gRFC A39): the public
// side of them, for the built-in ones as for anybody's own.
//
// A [Filter] has two halves. The [resource.HTTPFilter] reads and validates the
// configuration when a Listener or RouteConfiguration arrives, so that a bad one is a
// NACK. What it made of that is what the other half, Server or Client, makes an
// interceptor of.
package httpfilter
