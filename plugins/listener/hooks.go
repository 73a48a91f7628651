package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/convert"
	"github.com/xdsforge/xdsforge/framework/resource/tlscontext"
)

// TLS is how the connections of a filter chain are secured (A29).
type TLS = tlscontext.Server

// validateProfile checks what gRPC demands of the listener of a server (A36) or, for
// proxies that are not gRPC, the message's own rules.
func validateProfile(dc *resource.DecodeContext, p resource.Path, m *listenerv3.Listener, v *resource.Violations) {
	switch {
	case dc.Types.Profile() != resource.GRPC:
		resource.ValidateMessage(p, m, v)
		return
	case m.GetApiListener() != nil:
		return
	}
	if m.GetAddress() == nil {
		v.Add(p.Field("address"), nil, "must be set without api_listener (A36)")
	}
	if len(m.GetListenerFilters()) > 0 {
		v.Add(p.Field("listener_filters"), nil, "must not be set (A36)")
	}
	if m.GetUseOriginalDst().GetValue() {
		v.Add(p.Field("use_original_dst"), true, "must not be set (A36)")
	}
	if m.GetDefaultFilterChain() != nil {
		return
	}
	for _, c := range m.GetFilterChains() {
		if canMatch(c.GetFilterChainMatch()) {
			return
		}
	}
	v.Add(p.Field("filter_chains"), nil, "must have one that can match a connection, unless there is a default_filter_chain (A36)")
}

// serverAddress is where a server must listen. A proxy that is not gRPC may listen
// elsewhere than on a socket.
func serverAddress(dc *resource.DecodeContext, m *listenerv3.Listener) (string, error) {
	if m.GetApiListener() != nil {
		return "", nil
	}
	var v resource.Violations
	address := convert.HostPort((*resource.Path)(nil).Field("address"), m.GetAddress(), &v)
	if dc.Types.Profile() == resource.Envoy {
		return address, nil
	}
	return address, v.Err()
}

// serverTLS is what TLS is read of the transport socket. A proxy that is not gRPC may
// have other sockets.
func serverTLS(dc *resource.DecodeContext, s *corev3.TransportSocket) (*TLS, error) {
	tls, err := tlscontext.ForServer(dc, s)
	if err != nil && dc.Types.Profile() == resource.Envoy {
		return nil, nil //nolint:nilnil // TransportSocket says that there is something
	}
	return tls, err
}

// transportSocket names the message that configures the transport socket; what is
// wrong with that is serverTLS's to say.
func transportSocket(_ *resource.DecodeContext, s *corev3.TransportSocket) (string, error) { //nolint:unparam // the type of a hook
	return tlscontext.Message(s), nil
}

// validateGRPC checks what gRPC demands of an HttpConnectionManager (A27, A41).
func validateGRPC(m *hcmv3.HttpConnectionManager, v *resource.Violations) {
	var root *resource.Path
	if m.GetRds() == nil && m.GetRouteConfig() == nil {
		v.Add(resource.Path{}, nil, "must have exactly one of rds, route_config set (A27)")
	}
	if source := m.GetRds().GetConfigSource(); m.GetRds() != nil && source.GetAds() == nil && source.GetSelf() == nil {
		v.Add(root.Field("rds.config_source"), nil, "must have exactly one of ads, self set when rds is set (A47)")
	}
	if n := m.GetXffNumTrustedHops(); n != 0 {
		v.Add(root.Field("xff_num_trusted_hops"), n, "must be 0 (A41)")
	}
	if len(m.GetOriginalIpDetectionExtensions()) > 0 {
		v.Add(root.Field("original_ip_detection_extensions"), nil, "must be empty (A41)")
	}
}
