// Package httpfilter defines the HTTP filters that run on gRPC calls (gRFC A39). Built-in and custom filters
// implement the same types.
//
// A [Filter] has two halves. The [resource.HTTPFilter] reads and validates the configuration when a Listener or
// RouteConfiguration is decoded, so that the client NACKs an invalid one. The other half, Server or Client, makes an
// interceptor from the parsed configuration. It runs once for each configuration and prepares as much as it can, to
// keep the work for each call small.
//
// An interceptor runs before a call starts. It can let the call pass, delay it, change its context and metadata, or
// end it. It can also learn how the call ended. It does not see messages.
package httpfilter
