// Package route is the resource type envoy.config.route.v3.RouteConfiguration (RDS). It
// maps calls to clusters.
//
// # Finding a route
//
// [Update.VirtualHost] finds the virtual host for an authority. [VirtualHost.Match] finds
// the first of its routes that matches a call. It looks at the path, the headers and, for
// fractional routes, a random number (gRFCs A28, A63). Neither allocates in the common case. Both are as fast
// with thousands of routes as with ten.
//
// The update keeps the routes that gRPC ignores. Their Ignored field has the reason, and
// Match skips them. A route whose Action is nil is not ignored: gRPC does not support its
// action, so its calls fail.
//
// # Other fields of a route
//
// Routes also configure timeouts (A31), retries (A44), hash policies (A42), cluster
// specifier plugins and overrides of HTTP filters (A39). They can rewrite the authority if
// the server is trusted (A81).
//
// An [Update] refers to every cluster to which a call can go.
//
// The page docs/types/route.md lists the fields with their sources and defaults, and the rules.
package route

//go:generate go tool xdsgen resource.yaml
