// Package listener is the resource type envoy.config.listener.v3.Listener (LDS):
// where the routes of a client's target are, or what a server does with its
// connections.
//
// # Clients
//
// A listener with an api_listener is one of a client (gRFC A27): API says where the
// routes are, which HTTP filters calls go through (A39), and how long a call may take
// (A31). The routes are a RouteConfiguration of their own, to which the [Update] then
// refers, or one within the listener. The latter is decoded by the type that is
// registered for routes, and the listener refers to whatever it refers to.
//
// # Servers
//
// Any other is one of a server (A36). [Update.FilterChain] finds the filter chain that
// matches a connection most specifically; as many chains as there may be, it is as
// fast as with a few. The matches of two chains must not be the same, after their lists
// were multiplied out and their prefixes normalized, so that there is only one answer. A
// chain has TLS by certificate provider instances of the bootstrap (A29), and exactly
// one network filter, an HttpConnectionManager.
//
// # Filters
//
// HTTP filters are those that were registered, for this side. One that is optional and
// unknown is kept with the reason why it does not count. The last filter that counts
// must be a terminal one, such as the router.
//
// # Other proxies
//
// In [resource.Envoy], filters that nobody registered are kept as they came, and so is
// what a proxy may have and gRPC has not. FilterChain goes by what gRPC knows of
// connections there too: chains for server names or protocols match none.
package listener

//go:generate go tool xdsgen resource.yaml
