// Package route is the resource type envoy.config.route.v3.RouteConfiguration
// (RDS): which cluster a call goes to.
//
// # Finding a route
//
// [Update.VirtualHost] finds the virtual host for an authority, and
// [VirtualHost.Match] the first of its routes that takes a call: by its path, its
// headers and, where a route is for a share of the calls, by chance (gRFCs A28, A63).
// Both allocate nothing, and are as fast with thousands of routes as with ten.
//
// A route that gRPC does not follow is kept, Ignored says why, and Match passes over
// it. A route whose Action is nil is followed: it is for an action that gRPC has not,
// so that its calls fail.
//
// # What goes with a route
//
// Timeouts (A31), retries (A44), hashes (A42), the rewriting of authorities, where the
// server may ask for it (A81), cluster specifier plugins, and what overrides the
// configurations of HTTP filters (A39).
//
// An [Update] refers to every cluster that a call can go to.
package route

//go:generate go tool xdsgen resource.yaml
