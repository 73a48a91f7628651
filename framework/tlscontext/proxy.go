package tlscontext

import (
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

const http11Proxy = "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport"

// inner returns the transport socket inside the one that reaches endpoints through an HTTP proxy,
// in encoded form. It returns nil if there is none.
func inner(c resource.TypedConfig) ([]byte, error) {
	b, err := c.Encoded((*proxyv3.Http11ProxyUpstreamTransport)(nil))
	if err != nil {
		return nil, at(typedConfig(), err)
	}
	return wire.Field(b, 1), nil
}

// UsesProxy reports whether a transport socket, by its [Message], is the one that reaches endpoints
// through an HTTP proxy (gRFC A86).
func UsesProxy(message string) bool { return message == http11Proxy }

// Message returns the full name of the message that configures an encoded transport socket. It is
// empty if it cannot be read.
func Message(dc *resource.DecodeContext, socket []byte) string {
	if socket == nil {
		return ""
	}
	c, err := open(dc, socket)
	if err != nil {
		return ""
	}
	return c.Message
}
