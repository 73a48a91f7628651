package tlscontext

import (
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// An Instance is a certificate of a certificate provider instance of the bootstrap. The zero value
// is no certificate.
type Instance struct {
	// Provider is the name of the instance in the bootstrap.
	Provider string
	// Certificate is the name of the certificate in the instance.
	Certificate string
}

// A Client is the TLS configuration of a cluster's connections.
type Client struct {
	// Identity is the certificate that the client presents if the server asks; zero: none.
	Identity Instance
	// Roots are the roots that verify servers. Exactly one of Roots and SystemRoots is set (A82).
	Roots Instance
	// SystemRoots selects the system's roots.
	SystemRoots bool
	// SANs are matchers for the server's certificate. One of its names must match one of them. If
	// nil, names are not checked (A29).
	SANs []matcher.String
	// SNI is the server name that the client sends; at most 255 bytes (A101).
	SNI string
	// AutoHostSNI sends the hostname of the endpoint instead, if it has one (A101).
	AutoHostSNI bool
	// AutoSNISANValidation verifies the server by the SNI that the client sent, instead of by SANs
	// (A101).
	AutoSNISANValidation bool
}

// A Server is the TLS configuration of the connections of one filter chain.
type Server struct {
	// Identity is the certificate that the server presents; never zero.
	Identity Instance
	// Roots are the roots that verify clients; zero: the server does not ask for certificates.
	Roots Instance
	// RequireClientCertificate rejects clients without a certificate.
	RequireClientCertificate bool
}

// socketName is the required name of a filter chain's transport socket.
const socketName = "envoy.transport_sockets.tls"

// ForServer reads the encoded transport socket of a filter chain. It returns nil if there is none.
func ForServer(dc *resource.DecodeContext, socket []byte) (*Server, error) {
	if socket == nil {
		return nil, nil //nolint:nilnil // no transport socket is no TLS
	}
	if name, _ := wire.PeekString(socket, 1); name != socketName && dc.Types.Profile() != resource.Envoy { // the bytes are sound
		var v resource.Violations
		v.Add((*resource.Path)(nil).Field("name"), name, "must be "+socketName+" (A29)")
		return nil, v.Err()
	}
	config, err := open(dc, socket)
	if err != nil {
		return nil, err
	}
	b, err := encoded(config, (*tlsv3.DownstreamTlsContext)(nil))
	if err != nil {
		return nil, err
	}
	var m serverView
	r := dc.Reader(b)
	m.parse(&r)
	var v resource.Violations
	p := typedConfig()
	c := readCommon(dc, p.Field("common_tls_context"), &m.common, server, &v)
	out := &Server{Identity: c.identity, Roots: c.roots, RequireClientCertificate: m.requireClient}
	if m.common.set && c.identity == (Instance{}) {
		v.Add(p.Field("common_tls_context.tls_certificate_provider_instance"), nil, "must be set (A29)")
	}
	if m.requireClient && !c.validation {
		v.Add(p.Field("require_client_certificate"), true, "must not be set without a validation context (A29)")
	}
	if m.requireSNI {
		v.Add(p.Field("require_sni"), true, "must not be set (A29)")
	}
	if m.ocspStaplePolicy() != tlsv3.DownstreamTlsContext_LENIENT_STAPLING {
		v.Add(p.Field("ocsp_staple_policy"), m.ocspStaplePolicy(), "must be LENIENT_STAPLING (A29)")
	}
	return out, v.Err()
}

// ForClient reads the encoded transport socket of a cluster. It returns nil if there is none, or if
// a proxy's transport socket contains none.
func ForClient(dc *resource.DecodeContext, socket []byte) (*Client, error) {
	if socket == nil {
		return nil, nil //nolint:nilnil // no transport socket is no TLS
	}
	config, err := open(dc, socket)
	if err != nil {
		return nil, err
	}
	if !UsesProxy(config.Message) {
		return forClient(dc, config)
	}
	within, err := inner(config)
	if err != nil || within == nil {
		return nil, err
	}
	var c *Client
	if config, err = open(dc, within); err == nil {
		c, err = forClient(dc, config)
	}
	if err != nil {
		err = at(innerSocket(), err)
	}
	return c, err
}

func forClient(dc *resource.DecodeContext, config resource.TypedConfig) (*Client, error) {
	b, err := encoded(config, (*tlsv3.UpstreamTlsContext)(nil))
	if err != nil {
		return nil, err
	}
	var m clientView
	r := dc.Reader(b)
	m.parse(&r)
	var v resource.Violations
	p := typedConfig()
	c := readCommon(dc, p.Field("common_tls_context"), &m.common, client, &v)
	if m.common.set && !c.validation {
		v.Add(p.Field("common_tls_context.validation_context_type"), nil, "must be set (A29)")
	}
	if len(m.sni) > 255 {
		v.Add(p.Field("sni"), m.sni, "must be at most 255 bytes long (A101)")
	}
	return &Client{
		Identity: c.identity, Roots: c.roots, SystemRoots: c.systemRoots, SANs: c.sans,
		SNI: m.sni, AutoHostSNI: m.autoSNI, AutoSNISANValidation: m.autoSAN,
	}, v.Err()
}

// innerSocket returns the path of the transport socket inside a proxy's one.
func innerSocket() resource.Path {
	p := typedConfig()
	return p.Field("transport_socket")
}

func typedConfig() resource.Path { return (*resource.Path)(nil).Field("typed_config") }

// open opens the configuration of an encoded transport socket.
func open(dc *resource.DecodeContext, socket []byte) (resource.TypedConfig, error) {
	c, err := dc.OpenEncodedConfig(wire.Field(socket, 3))
	if err != nil {
		err = at(typedConfig(), err)
	}
	return c, err
}

// encoded returns a transport socket's configuration, which must be a message of m's type.
func encoded(c resource.TypedConfig, m proto.Message) ([]byte, error) {
	if want := string(m.ProtoReflect().Descriptor().FullName()); c.Message != want {
		var v resource.Violations
		p := typedConfig()
		v.Add(p.Field("type_url"), c.Message, "must be "+want+" (A29)")
		return nil, v.Err()
	}
	b, err := c.Encoded(m)
	if err != nil {
		err = at(typedConfig(), err)
	}
	return b, err
}

func at(p resource.Path, err error) error {
	if err == nil {
		return nil
	}
	var v resource.Violations
	v.AddError(p, err)
	return v.Err()
}
