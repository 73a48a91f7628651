// Package lbendpoint is the resource type envoy.config.endpoint.v3.LbEndpoint (LEDS). It is
// one server of a locality. With it, a change of one server does not resend all servers of
// a large locality.
//
// A locality names the collection of its servers. Use [WatchCollection] to watch it. The
// message has no name, so its resources are sent in the wrapper
// envoy.service.discovery.v3.Resource.
//
// The page docs/types/lbendpoint.md lists the fields with their sources and defaults, and the rules.
package lbendpoint

//go:generate go tool xdsgen resource.yaml
