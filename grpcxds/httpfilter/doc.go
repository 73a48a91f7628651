// Package httpfilter is what HTTP filters do with gRPC's calls (gRFC A39): the public
// side of them, for the built-in ones as for anybody's own.
//
// A [Filter] has two halves. The [resource.HTTPFilter] reads and validates the
// configuration when a Listener or RouteConfiguration arrives, so that a bad one is a
// NACK. What it made of that is what the other half, Server or Client, makes an
// interceptor of: once for a configuration, so that what can be worked out before is not
// worked out for each call.
//
// An interceptor sees a call before it starts. It lets it pass, makes it wait, changes its
// context (and with that its metadata), or ends it; and it can hear how it ended. Messages
// go by it.
package httpfilter
