// Package lbendpoint is the resource type envoy.config.endpoint.v3.LbEndpoint
// (LEDS): one server of a locality, for localities with so many of them that a
// change of one must not bring them all.
//
// A locality names its servers by a collection; watch that with
// [WatchCollection]. The message has no name, so that its resources arrive in the
// wrapper envoy.service.discovery.v3.Resource.
package lbendpoint

//go:generate go tool xdsgen resource.yaml
