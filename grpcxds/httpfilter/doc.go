// Package httpfilter defines the HTTP filters that run on gRPC calls (gRFC A39). Built-in and custom filters
// implement the same types.
//
// A [Filter] has two halves. The [resource.HTTPFilter] reads and validates the configuration when a Listener or
// RouteConfiguration is decoded, so that the client NACKs an invalid one. The other half runs:
//
//   - An instance ([ClientInstance], [ServerInstance]) belongs to an entry of a list of filters. It survives updates,
//     and owns resources such as channels and caches. NewClient or NewServer creates it.
//   - An interceptor belongs to one configuration. An instance creates it from the result of Parse and the most specific
//     override. It prepares as much as it can, to keep the work for each call small.
//   - A stream belongs to one call.
//
// There are two kinds of interceptors. A [ClientBefore] or [ServerBefore] is a function that runs before a call starts.
// It can let the call pass, delay it, change its context and metadata, or end it. It can also learn how the call ended.
// Every other interceptor wraps the stream of the call, and sees messages, headers, trailers and the status. A list that
// has only functions costs a call no stream. A filter that keeps nothing between updates needs no type for its instance:
// [ClientFunc] and [ServerFunc] create one.
//
// Filters of a channel run outside of retries: each message passes them once, however many attempts follow.
//
// # Ends
//
// An instance is closed when no configuration and no call uses its entry any more. An interceptor that has a method
// Close, with or without an error, is closed before its instance: after its configuration was replaced, and after the
// last call that began with this configuration. A filter registers functions for the end of a call by OnDone.
package httpfilter
