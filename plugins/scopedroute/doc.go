// Package scopedroute is the resource type
// envoy.config.route.v3.ScopedRouteConfiguration (SRDS): routes for the calls whose
// scope key is the scope's.
//
// A program finds the scope by the key that it makes of each call. The set of all
// scopes is the type's wildcard.
package scopedroute

//go:generate go tool xdsgen resource.yaml
