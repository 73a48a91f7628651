// Package httpxds makes HTTP clients and servers of net/http that control planes configure, as package grpcxds does for
// gRPC. It speaks HTTP/1.1 and HTTP/2, with TLS or without.
//
// # Clients
//
// A [Transport] is an [http.RoundTripper] for one target:
//
//	t, err := httpxds.NewTransport("xds://east.example/checkout")
//	client := &http.Client{Transport: t}
//	resp, err := client.Get("http://checkout/orders")
//
// The Listener of the target has the routes of requests, and the routes name clusters. The LB policies of a cluster choose
// the endpoint of each request, and the Transport keeps the connections to the endpoints. Use URLs with the scheme http:
// the control plane configures TLS for each cluster. A request with the scheme https fails if its cluster has no TLS.
//
// A request that receives no response returns an [*Error]. Its [Reason] says which part failed.
//
// # Servers
//
// A [Server] is an http.Server that control planes configure (gRFC A36). The Listener resource of an address configures
// the server there. The bootstrap's template makes the resource's name. The Listener sets the filter chain of a
// connection, its TLS, the routes and the HTTP filters of requests. Until there is a Listener, the server closes
// connections without a byte. A new Listener applies to new connections. The server asks clients to leave the old ones
// with their next response, and closes those that are left after the drain time.
//
// Routes match the path as the handler sees it: decoded, and without empty, "." and ".." segments. See
// [WithEscapedSlashes].
//
// # Environments
//
// An xdsforge.Env has the bootstrap, the resource types and the settings. HTTP clients, HTTP servers, gRPC channels and
// gRPC servers of one Env share its connections to control planes, its circuit breakers and its certificates.
package httpxds
