package tlscontext

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/matcher"
)

// An Instance is a certificate of a certificate provider instance of the bootstrap.
// The zero value is none.
type Instance struct {
	// Provider is the name of the instance in the bootstrap.
	Provider string
	// Certificate is the name that the instance knows the certificate by.
	Certificate string
}

// A Client is the TLS of a cluster's connections.
type Client struct {
	// Identity is what the client shows when it is asked; zero: nothing.
	Identity Instance
	// Roots is what servers are verified against. Exactly one of Roots and
	// SystemRoots says something (A82).
	Roots Instance
	// SystemRoots says that the system's roots are used.
	SystemRoots bool
	// SANs are what a name in the server's certificate must match, any of them;
	// nil: no name is looked at (A29).
	SANs []matcher.String
	// SNI is the server name to ask for; at most 255 bytes (A101).
	SNI string
	// AutoHostSNI asks for the hostname of the endpoint, where it has one (A101).
	AutoHostSNI bool
	// AutoSNISANValidation verifies the server by the name that was asked for, in
	// the place of SANs (A101).
	AutoSNISANValidation bool
}

// A Server is the TLS of the connections of one filter chain.
type Server struct {
	// Identity is what the server shows; never zero.
	Identity Instance
	// Roots is what clients are verified against; zero: clients are not asked.
	Roots Instance
	// RequireClientCertificate says that a client must show a certificate.
	RequireClientCertificate bool
}

const (
	upstream   = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	downstream = "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
)

// ForServer reads the transport socket of a filter chain; nil without one.
func ForServer(dc *resource.DecodeContext, s *corev3.TransportSocket) (*Server, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // no transport socket is no TLS
	}
	m := new(tlsv3.DownstreamTlsContext)
	if err := open(s.GetTypedConfig(), downstream, m); err != nil {
		return nil, err
	}
	var v resource.Violations
	p := typedConfig()
	c := readCommon(dc, p.Field("common_tls_context"), m.GetCommonTlsContext(), server, &v)
	out := &Server{Identity: c.identity, Roots: c.roots, RequireClientCertificate: m.GetRequireClientCertificate().GetValue()}
	if m.GetCommonTlsContext() != nil && c.identity == (Instance{}) {
		v.Add(p.Field("common_tls_context.tls_certificate_provider_instance"), nil, "must be set (A29)")
	}
	if out.RequireClientCertificate && c.validation == nil {
		v.Add(p.Field("require_client_certificate"), true, "must not be set without a validation context (A29)")
	}
	if m.GetRequireSni().GetValue() {
		v.Add(p.Field("require_sni"), true, "must not be set (A29)")
	}
	if m.GetOcspStaplePolicy() != tlsv3.DownstreamTlsContext_LENIENT_STAPLING {
		v.Add(p.Field("ocsp_staple_policy"), m.GetOcspStaplePolicy(), "must be LENIENT_STAPLING (A29)")
	}
	return out, v.Err()
}

// ForClient reads the transport socket of a cluster; nil without one, and without
// one in a proxy's.
func ForClient(dc *resource.DecodeContext, s *corev3.TransportSocket) (*Client, error) {
	inner, proxied, err := Inner(s)
	if err != nil || inner == nil {
		return nil, err
	}
	c, err := forClient(dc, inner)
	if proxied {
		err = at(innerSocket(), err)
	}
	return c, err
}

func forClient(dc *resource.DecodeContext, inner *corev3.TransportSocket) (*Client, error) {
	m := new(tlsv3.UpstreamTlsContext)
	if err := open(inner.GetTypedConfig(), upstream, m); err != nil {
		return nil, err
	}
	var v resource.Violations
	p := typedConfig()
	c := readCommon(dc, p.Field("common_tls_context"), m.GetCommonTlsContext(), client, &v)
	if m.GetCommonTlsContext() != nil && c.validation == nil {
		v.Add(p.Field("common_tls_context.validation_context_type"), nil, "must be set (A29)")
	}
	if len(m.GetSni()) > 255 {
		v.Add(p.Field("sni"), m.GetSni(), "must be at most 255 bytes long (A101)")
	}
	return &Client{
		Identity: c.identity, Roots: c.roots, SystemRoots: c.systemRoots, SANs: c.sans,
		SNI: m.GetSni(), AutoHostSNI: m.GetAutoHostSni(), AutoSNISANValidation: m.GetAutoSniSanValidation(),
	}, v.Err()
}

// innerSocket is where a proxy's transport socket has another.
func innerSocket() resource.Path {
	p := typedConfig()
	return p.Field("transport_socket")
}

func typedConfig() resource.Path { return (*resource.Path)(nil).Field("typed_config") }

// open reads a transport socket's configuration, which must be of one message.
func open(a *anypb.Any, message string, m proto.Message) error {
	p := typedConfig()
	c, err := resource.OpenTypedConfig(a)
	if err != nil {
		return at(p, err)
	}
	if c.Message != message {
		var v resource.Violations
		v.Add(p.Field("type_url"), c.Message, "must be "+message+" (A29)")
		return v.Err()
	}
	return at(p, c.Unmarshal(m))
}

func at(p resource.Path, err error) error {
	if err == nil {
		return nil
	}
	var v resource.Violations
	v.AddError(p, err)
	return v.Err()
}
