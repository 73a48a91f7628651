// Package listener is the resource type envoy.config.listener.v3.Listener (LDS). It tells a
// client where the routes of a target are, or tells a server how to handle its connections.
//
// # Clients
//
// A listener with an api_listener is a client listener (gRFC A27). API has the source of
// the routes, the HTTP filters (A39), and the limit of a call's duration (A31). The routes
// are a separate RouteConfiguration, to which the [Update] refers, or they are inside the
// listener. The registered route type decodes routes inside the listener. The listener then
// refers to every resource to which those routes refer.
//
// # Servers
//
// Any other listener is a server listener (A36). [Update.FilterChain] finds the filter
// chain that matches a connection most specifically. It is as fast with many chains as with
// a few. Two chains must not have the same match once their lists are multiplied out and
// their prefixes are normalized, so the result is unique. A chain has TLS by certificate
// provider instances of the bootstrap (A29). It has exactly one network filter, an
// HttpConnectionManager.
//
// # Filters
//
// HTTP filters must be registered for the side that uses them. The update keeps an optional
// unknown filter with the reason why it is skipped. The last filter that is not skipped
// must be a terminal one, such as the router.
//
// # Other proxies
//
// Profile [resource.Envoy] keeps the received configuration of unregistered filters, configurations that only Envoy supports, and
// settings that gRPC does not support. FilterChain still uses only the properties of
// connections that gRPC knows. Chains for server names or protocols match no connection.
//
// The page docs/types/listener.md lists the fields with their sources and defaults, and the rules.
package listener

//go:generate go tool xdsgen resource.yaml
