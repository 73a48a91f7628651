// Package listener is the resource type envoy.config.listener.v3.Listener (LDS),
// as a client reads it: where the routes of a target are (gRFC A27).
//
// The routes are a RouteConfiguration of their own, to which the [Update] then
// refers, or one within the listener. The latter is decoded by the type that is
// registered for routes, and the listener refers to whatever it refers to.
//
// Read so far are API listeners; a listener of a server is rejected.
package listener

//go:generate go tool xdsgen resource.yaml
