// Package virtualhost is the resource type envoy.config.route.v3.VirtualHost
// (VHDS): the routes of some domains, asked for when a call needs them.
//
// A virtual host is named by the route configuration and the domain that it is
// asked for by, not by itself: it arrives in the wrapper
// envoy.service.discovery.v3.Resource.
package virtualhost

//go:generate go tool xdsgen resource.yaml
