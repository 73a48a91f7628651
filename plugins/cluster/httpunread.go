package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// rejectUnread rejects fields of a cluster that would select fewer endpoints or verify them more strictly than HTTP clients
// do (ADR 330).
func rejectUnread(p *resource.Path, u *Update, m *clusterv3.Cluster, v *resource.Violations) {
	if n := len(m.GetLbSubsetConfig().GetSubsetSelectors()); n > 0 {
		v.Add(p.Field("lb_subset_config.subset_selectors"), n, "must be empty; subsets of endpoints are not supported, so use a cluster for each")
	}
	if u.TLS == nil {
		return
	}
	rejectAutoNames(p.Field("upstream_http_protocol_options"), m.GetUpstreamHttpProtocolOptions(), v) //nolint:staticcheck // control planes still send it
	a, ok := m.GetTypedExtensionProtocolOptions()[protocolOptions]
	if !ok {
		return
	}
	at := p.Field("typed_extension_protocol_options[" + protocolOptions + "].upstream_http_protocol_options")
	options := new(corev3.UpstreamHttpProtocolOptions)
	if err := proto.Unmarshal(wire.Field(a.GetValue(), 2), options); err != nil {
		v.AddError(at, err)
	}
	rejectAutoNames(at, options, v)
}

// rejectAutoNames rejects server names that depend on the request. A connection with TLS serves requests of several hosts.
func rejectAutoNames(p resource.Path, m *corev3.UpstreamHttpProtocolOptions, v *resource.Violations) {
	if m.GetAutoSni() {
		v.Add(p.Field("auto_sni"), true, "must be false with TLS; use sni or auto_host_sni of the UpstreamTlsContext")
	}
	if m.GetAutoSanValidation() {
		v.Add(p.Field("auto_san_validation"), true, "must be false with TLS; use match_subject_alt_names or auto_sni_san_validation of the UpstreamTlsContext")
	}
}
