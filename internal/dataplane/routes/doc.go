// Package routes chooses the route and the cluster of a request, before load balancing. gRPC channels and HTTP clients
// use it.
//
// A [Table] is derived from one configuration. It has a [Plan] for each route, and a plan has the clusters that requests
// of the route are sent to. [Refs] keep these clusters in the configuration while a table or a request uses them. The
// user adds its own settings to plans and targets, such as retry policies and filters.
package routes
