// Package virtualhost is the resource type envoy.config.route.v3.VirtualHost (VHDS). It is
// the routes of some domains, which a client subscribes to when a call needs them.
//
// The message does not contain the resource name. The name consists of the route
// configuration and the requested domain. The resource is therefore sent in the wrapper
// envoy.service.discovery.v3.Resource.
//
// The page docs/types/virtualhost.md lists the fields with their sources and defaults, and the rules.
package virtualhost

//go:generate go tool xdsgen resource.yaml
