package tlscontext

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

const http11Proxy = "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport"

// Inner takes a cluster's transport socket out of the one that reaches endpoints
// through an HTTP proxy (gRFC A86), and says whether it was in one. Nil: there is
// none inside.
func Inner(s *corev3.TransportSocket) (inner *corev3.TransportSocket, proxied bool, err error) {
	if s == nil {
		return nil, false, nil
	}
	c, err := resource.OpenTypedConfig(s.GetTypedConfig())
	if err != nil {
		return nil, false, at(typedConfig(), err)
	}
	if c.Message != http11Proxy {
		return s, false, nil
	}
	m := new(proxyv3.Http11ProxyUpstreamTransport)
	if err := c.Unmarshal(m); err != nil {
		return nil, false, at(typedConfig(), err)
	}
	return m.GetTransportSocket(), true, nil
}

// Message names the message that configures a transport socket; empty where there is
// none that can be told.
func Message(s *corev3.TransportSocket) string {
	c, err := resource.OpenTypedConfig(s.GetTypedConfig())
	if err != nil {
		return ""
	}
	return c.Message
}
