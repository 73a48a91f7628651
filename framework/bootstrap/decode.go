package bootstrap

import (
	"encoding/json"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// decodeSpec reads the file format. A value of the wrong type is a problem and stays empty in the
// Spec. Lists keep their length.
func decodeSpec(p *problems, data []byte, federation bool) Spec {
	o := document(p, data).object()
	s := Spec{
		Servers:                decodeServers(o),
		Node:                   decodeNode(o),
		ServerListenerTemplate: o.stringValue("server_listener_resource_name_template"),
		LastKnownGood:          decodeLastKnownGood(o),
		AllowedGRPCServices:    decodeGRPCServices(o),
	}
	if federation {
		s.ClientDefaultListenerTemplate = o.stringValue("client_default_listener_resource_name_template")
		for name, v := range o.entries("authorities") {
			if s.Authorities == nil {
				s.Authorities = make(map[string]AuthoritySpec)
			}
			o := v.object()
			s.Authorities[name] = AuthoritySpec{
				ClientListenerTemplate: o.stringValue("client_listener_resource_name_template"),
				Servers:                decodeServers(o),

				FallbackOnReachabilityOnly: o.boolValue("fallback_on_reachability_only"),
			}
		}
	}
	for name, v := range o.entries("certificate_providers") {
		if s.CertificateProviders == nil {
			s.CertificateProviders = make(map[string]CertificateProvider)
		}
		o := v.object()
		s.CertificateProviders[name] = CertificateProvider{PluginName: o.stringValue("plugin_name"), Config: o.raw("config")}
	}
	return s
}

func decodeNode(o object) *corev3.Node {
	v, ok := o.field("node")
	if !ok {
		return nil
	}
	node := new(corev3.Node)
	if kind := v.kind(); kind != "an object" {
		v.p.add(v.path, kind, "must be an object")
	} else if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(v.raw, node); err != nil {
		v.p.addCause(v.path, kind, "must be the JSON form of envoy.config.core.v3.Node", err)
	}
	return node
}

func decodeServers(o object) []ServerSpec {
	items := o.items("xds_servers")
	servers := make([]ServerSpec, 0, len(items))
	for _, v := range items {
		servers = append(servers, decodeServer(v))
	}
	return servers
}

func decodeServer(v value) ServerSpec {
	o := v.object()
	s := ServerSpec{
		URI:          o.stringValue("server_uri"),
		ChannelCreds: decodeCreds(o, "channel_creds"),
		CallCreds:    decodeCreds(o, "call_creds"),
	}
	for _, v := range o.items("server_features") {
		var feature any
		_ = json.Unmarshal(v.raw, &feature) // it is JSON, and every type is allowed
		s.Features = append(s.Features, feature)
	}
	return s
}

func decodeCreds(o object, name string) []CredsSpec {
	items := o.items(name)
	creds := make([]CredsSpec, 0, len(items))
	for _, v := range items {
		o := v.object()
		creds = append(creds, CredsSpec{Type: o.stringValue("type"), Config: o.raw("config")})
	}
	return creds
}
