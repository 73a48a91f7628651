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
// # Environments
//
// An xdsforge.Env has the bootstrap, the resource types and the settings. HTTP clients, HTTP servers, gRPC channels and
// gRPC servers of one Env share its connections to control planes, its circuit breakers and its certificates.
package httpxds
