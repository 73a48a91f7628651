package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
)

// validateProfile checks the rules of the message and of its managers in profile Envoy. It
// ignores managers that cannot be decoded, because decode reports them.
func validateProfile(dc *resource.DecodeContext, p resource.Path, m *listenerv3.Listener, v *resource.Violations) {
	v.AddMessage(p, m)
	manager := func(p resource.Path, a *anypb.Any) {
		var hcm hcmv3.HttpConnectionManager
		if c, err := dc.OpenTypedConfig(a); err == nil && c.Unmarshal(&hcm) == nil {
			v.AddMessage(p, &hcm)
		}
	}
	chain := func(p resource.Path, c *listenerv3.FilterChain) {
		for i, f := range c.GetFilters() {
			filter := p.Item("filters", i)
			manager(filter.Field("typed_config"), f.GetTypedConfig())
		}
	}
	manager(p.Field("api_listener.api_listener"), m.GetApiListener().GetApiListener())
	for i, c := range m.GetFilterChains() {
		chain(p.Item("filter_chains", i), c)
	}
	chain(p.Field("default_filter_chain"), m.GetDefaultFilterChain())
}

// serverAddress returns the TCP address on which a server must listen. Profile Envoy
// accepts other addresses.
func serverAddress(dc *resource.DecodeContext, api *anypb.Any, a *corev3.Address) (string, error) {
	if api != nil {
		return "", nil
	}
	var v resource.Violations
	at := (*resource.Path)(nil).Field("address")
	address := convert.HostPort(dc, at, a, &v)
	if dc.Types.Profile() == resource.Envoy {
		return address, nil
	}
	if p := a.GetSocketAddress().GetProtocol(); p != corev3.SocketAddress_TCP {
		v.Add(at.Field("socket_address.protocol"), p, "must be TCP (A36)")
	}
	return address, v.Err()
}

// serverTLS decodes TLS from the transport socket. Profile Envoy accepts other sockets.
func serverTLS(dc *resource.DecodeContext, socket []byte) (*tlscontext.Server, error) {
	tls, err := tlscontext.ForServer(dc, socket)
	if err != nil && dc.Types.Profile() == resource.Envoy {
		return nil, nil //nolint:nilnil // TransportSocket has the name of the message
	}
	return tls, err
}

// transportSocket returns the name of the message that configures the transport socket.
// serverTLS reports its errors.
func transportSocket(dc *resource.DecodeContext, socket []byte) (string, error) { //nolint:unparam // the type of a hook
	return tlscontext.Message(dc, socket), nil
}
