// Package scopedroute is the resource type envoy.config.route.v3.ScopedRouteConfiguration
// (SRDS). It selects the routes for the calls of one scope.
//
// A program builds a scope key from each call and looks up the scope by it. Subscribe to
// the wildcard to get all scopes.
//
// The page docs/types/scopedroute.md lists the fields with their sources and defaults, and the rules.
package scopedroute

//go:generate go tool xdsgen resource.yaml
