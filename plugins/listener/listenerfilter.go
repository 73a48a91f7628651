package listener

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// checkListenerFilters rejects, in profile HTTP, the listener filters of a server that change what is known about a
// connection, such as the client's address. Inspectors only find properties for the matches of filter chains (ADR 330).
// A client listener has no connections.
func checkListenerFilters(dc *resource.DecodeContext, p resource.Path, api *anypb.Any, filters []*listenerv3.ListenerFilter, v *resource.Violations) {
	if api != nil {
		return
	}
	for i, f := range filters {
		at := p.Item("listener_filters", i)
		if f.GetTypedConfig() == nil {
			v.Add(at.Field("typed_config"), nil, "must be set; servers do not get listener filters from ECDS")
			continue
		}
		c, err := dc.OpenTypedConfig(f.GetTypedConfig())
		if err != nil {
			v.AddError(at.Field("typed_config"), err)
			continue
		}
		switch c.Message {
		case "envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector", "envoy.extensions.filters.listener.http_inspector.v3.HttpInspector":
		default:
			v.Add(at.Field("typed_config"), c.Message, "must be a TlsInspector or an HttpInspector; remove other listener filters")
		}
	}
}
