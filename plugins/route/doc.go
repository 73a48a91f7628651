// Package route is the resource type envoy.config.route.v3.RouteConfiguration
// (RDS): which cluster a call goes to.
//
// Read so far are matches on the path by prefix or as a whole, and on nothing
// else, and routes to one or several clusters (gRFC A28). A route that matches or
// acts in another way is kept, with nil where what it says is not read: a consumer
// that cannot go by it must pass over the route, not over the difference. A match
// that says nothing of the path is rejected, as is a sum of weights that is zero
// or exceeds a uint32. Clusters without weight get no traffic and are left out.
//
// An [Update] refers to every cluster that a call can go to.
package route

//go:generate go tool xdsgen resource.yaml
