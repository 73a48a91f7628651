package grpcservice

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesstokenv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/call_credentials/access_token/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/tls/v3"
	xdsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/xds/v3"
	transportv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/feature"
)

// The messages of credentials.
const (
	channelPrefix = "envoy.extensions.grpc_service.channel_credentials."
	googleDefault = channelPrefix + "google_default.v3.GoogleDefaultCredentials"
	insecure      = channelPrefix + "insecure.v3.InsecureCredentials"
	tls           = channelPrefix + "tls.v3.TlsCredentials"
	xds           = channelPrefix + "xds.v3.XdsCredentials"
	accessToken   = "envoy.extensions.grpc_service.call_credentials.access_token.v3.AccessTokenCredentials"
)

// maxToken is the limit of an access token, in bytes: that of a header.
const maxToken = 16384

// readCredentials sets the server and the credentials, by the trust in the server that sent the resource.
func (s *Service) readCredentials(dc *resource.DecodeContext, p resource.Path, m *corev3.GrpcService_GoogleGrpc, v *resource.Violations) {
	if dc.Server != nil && dc.Server.HasFeature(feature.TrustedXDSServer) {
		s.readChannel(dc, p, m, v)
		s.readCalls(dc, p, m.GetCallCredentialsPlugin(), v)
		return
	}
	allowed := false
	if dc.Bootstrap != nil {
		s.Server, allowed = dc.Bootstrap.GRPCService(m.GetTargetUri())
	}
	if !allowed {
		v.Add(p.Field("target_uri"), m.GetTargetUri(), "must be one of the bootstrap's allowed_grpc_services, because the server is not a trusted_xds_server (A102)")
	}
}

// readChannel reads the first channel credentials that are supported.
func (s *Service) readChannel(dc *resource.DecodeContext, p resource.Path, m *corev3.GrpcService_GoogleGrpc, v *resource.Violations) {
	const field = "channel_credentials_plugin"
	list := m.GetChannelCredentialsPlugin()
	if tooMany(p.Field(field), len(list), v) {
		return
	}
	for i, one := range list {
		item := p.Item(field, i)
		known, kind := s.readPlugin(dc, item, one, false, v)
		if !known {
			continue
		}
		if kind == "" {
			return // they are invalid
		}
		server, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: m.GetTargetUri(), ChannelCreds: []bootstrap.CredsSpec{{Type: kind}}}, bootstrap.WithChannelCreds(kind))
		if err != nil {
			v.AddError(item, err)
		}
		s.Server = server
		return
	}
	v.Add(p.Field(field), len(list), "must list a supported type: GoogleDefaultCredentials, InsecureCredentials, TlsCredentials or XdsCredentials (A102)")
}

// readPlugin reads channel credentials, unless their type is unknown. It returns their type in the bootstrap.
func (s *Service) readPlugin(dc *resource.DecodeContext, p resource.Path, a *anypb.Any, fallback bool, v *resource.Violations) (known bool, kind string) {
	c, err := dc.OpenTypedConfig(a)
	if err != nil {
		v.AddError(p, err)
		return true, ""
	}
	switch c.Message {
	case googleDefault:
		return true, "google_default"
	case insecure:
		return true, "insecure"
	case tls:
		s.TLS = readTLS(dc, p, c, v)
		return true, "tls"
	case xds:
		if fallback {
			v.Add(p, c.Message, "must not be the fallback of XdsCredentials")
			return true, ""
		}
		m := new(xdsv3.XdsCredentials)
		if err := c.Unmarshal(m); err != nil {
			v.AddError(p, err)
			return true, ""
		}
		s.Managed = true
		q := p.Field("fallback_credentials")
		if m.GetFallbackCredentials() == nil {
			v.Add(q, nil, "must be set (A102)")
			return true, ""
		}
		known, kind := s.readPlugin(dc, q, m.GetFallbackCredentials(), true, v)
		if !known {
			v.Add(q, m.GetFallbackCredentials().GetTypeUrl(), "must be of a supported type (A102)")
		}
		return true, kind
	}
	return false, ""
}

func readTLS(dc *resource.DecodeContext, p resource.Path, c resource.TypedConfig, v *resource.Violations) *tlscontext.Client {
	m := new(tlsv3.TlsCredentials)
	if err := c.Unmarshal(m); err != nil {
		v.AddError(p, err)
		return nil
	}
	out := new(tlscontext.Client)
	if m.GetRootCertificateProvider() == nil {
		v.Add(p.Field("root_certificate_provider"), nil, "must be set (A102)")
	} else {
		out.Roots = readInstance(dc, p.Field("root_certificate_provider"), m.GetRootCertificateProvider(), v)
	}
	if m.GetIdentityCertificateProvider() != nil {
		out.Identity = readInstance(dc, p.Field("identity_certificate_provider"), m.GetIdentityCertificateProvider(), v)
	}
	return out
}

func readInstance(dc *resource.DecodeContext, p resource.Path, m *transportv3.CommonTlsContext_CertificateProviderInstance, v *resource.Violations) tlscontext.Instance {
	if err := dc.CertificateProvider(m.GetInstanceName()); err != nil {
		v.Add(p.Field("instance_name"), m.GetInstanceName(), err.Error())
	}
	return tlscontext.Instance{Provider: m.GetInstanceName(), Certificate: m.GetCertificateName()}
}

// readCalls reads all call credentials that are supported.
func (s *Service) readCalls(dc *resource.DecodeContext, p resource.Path, list []*anypb.Any, v *resource.Violations) {
	const field = "call_credentials_plugin"
	if tooMany(p.Field(field), len(list), v) {
		return
	}
	for i, a := range list {
		item := p.Item(field, i)
		c, err := dc.OpenTypedConfig(a)
		if err != nil {
			v.AddError(item, err)
			continue
		}
		if c.Message != accessToken {
			continue
		}
		m := new(accesstokenv3.AccessTokenCredentials)
		if err := c.Unmarshal(m); err != nil {
			v.AddError(item, err)
			continue
		}
		if token := m.GetToken(); token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			v.Add(item.Field("token"), len(token), fmt.Sprintf("must be a token of 1 to %d printable ASCII characters (A102)", maxToken))
			continue
		}
		s.token = m.GetToken() // calls send one authorization header
	}
}

func tooMany(p resource.Path, n int, v *resource.Violations) bool {
	if n > maxPlugins {
		v.Add(p, n, fmt.Sprintf("must have at most %d entries", maxPlugins))
	}
	return n > maxPlugins
}
