package tlscontext

import (
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3"

	"github.com/xdsforge/xdsforge/framework/resource/wire"
)

const http11Proxy = "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport"

// Inner takes a cluster's encoded transport socket out of the one that reaches
// endpoints through an HTTP proxy (gRFC A86), and says whether it was in one. Nil:
// there is none inside.
func Inner(socket []byte) (inner []byte, proxied bool, err error) {
	if socket == nil {
		return nil, false, nil
	}
	c, err := config(socket)
	if err != nil {
		return nil, false, at(typedConfig(), err)
	}
	if c.Message != http11Proxy {
		return socket, false, nil
	}
	b, err := c.Encoded((*proxyv3.Http11ProxyUpstreamTransport)(nil))
	if err != nil {
		return nil, false, at(typedConfig(), err)
	}
	return wire.Field(b, 1), true, nil
}

// Message names the message that configures an encoded transport socket; empty where
// there is none that can be told.
func Message(socket []byte) string {
	c, err := config(socket)
	if err != nil {
		return ""
	}
	return c.Message
}
