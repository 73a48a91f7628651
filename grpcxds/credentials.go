package grpcxds

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

// ServerCredentials returns credentials for [NewServer] that secure connections as the control plane configures them
// (gRFC A29). A connection uses TLS if its filter chain configures TLS, and the fallback otherwise. Servers of
// grpc.NewServer use the fallback too. A nil fallback closes connections without TLS. The fallback is not used if the
// configured TLS fails.
//
// A handshake uses the current certificates of their providers. It waits for the first certificates until the
// handshake's deadline. The AuthInfo of calls is a [credentials.TLSInfo], or that of the fallback.
func ServerCredentials(fallback credentials.TransportCredentials) credentials.TransportCredentials {
	return &xdsCredentials{fallback: orRefuse(fallback)}
}

// ClientCredentials returns credentials for [NewClient] and DialOptions that secure connections as the control plane
// configures them (gRFCs A29, A82, A87, A101). A connection uses TLS if its cluster configures TLS, and the fallback
// otherwise. Channels with other targets use the fallback too. With a nil fallback, connections without TLS fail. The
// fallback is not used if the configured TLS fails.
//
// A handshake uses the current certificates of their providers. It waits for the first certificates until the
// handshake's deadline. The AuthInfo of calls is a [credentials.TLSInfo], or that of the fallback.
func ClientCredentials(fallback credentials.TransportCredentials) credentials.TransportCredentials {
	return &xdsCredentials{fallback: orRefuse(fallback)}
}

// xdsCredentials pass each handshake to the fallback, or to gRPC's TLS credentials, which they make for it.
type xdsCredentials struct {
	fallback credentials.TransportCredentials
}

// ServerHandshake implements [credentials.TransportCredentials].
func (c *xdsCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, ok := conn.(interface{ ServerTLS() (*tls.Config, error) }) // a *security.Conn, or a type that embeds one
	if !ok {
		return c.fallback.ServerHandshake(conn)
	}
	switch config, err := secured.ServerTLS(); {
	case err != nil:
		_ = conn.Close() // the error says why
		return nil, nil, err
	case config == nil:
		return c.fallback.ServerHandshake(conn)
	default:
		return credentials.NewTLS(config).ServerHandshake(conn)
	}
}

// ClientHandshake implements [credentials.TransportCredentials].
func (c *xdsCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	switch config, err := security.ClientTLS(ctx, credentials.ClientHandshakeInfoFromContext(ctx).Attributes); {
	case err != nil:
		_ = conn.Close() // the error says why
		return nil, nil, err
	case config == nil:
		return c.fallback.ClientHandshake(ctx, authority, conn)
	default: // without a server name, gRPC would verify the authority (A101)
		return credentials.NewTLS(config).ClientHandshake(ctx, config.ServerName, conn)
	}
}

// Info implements [credentials.TransportCredentials]. It returns the server name of the fallback. The name becomes
// the authority of channels, which the fallback verifies servers by.
func (c *xdsCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls", ServerName: c.fallback.Info().ServerName} //nolint:staticcheck // credentials still use it
}

// Clone implements [credentials.TransportCredentials].
func (c *xdsCredentials) Clone() credentials.TransportCredentials {
	return &xdsCredentials{fallback: c.fallback.Clone()}
}

// OverrideServerName implements [credentials.TransportCredentials]. It applies to the fallback.
func (c *xdsCredentials) OverrideServerName(name string) error {
	return c.fallback.OverrideServerName(name) //nolint:staticcheck // the interface has it
}

// orRefuse returns the fallback. If it is nil, it returns credentials that refuse every connection.
func orRefuse(fallback credentials.TransportCredentials) credentials.TransportCredentials {
	if fallback == nil {
		return refusal{insecure.NewCredentials()}
	}
	return fallback
}

// A refusal replaces a nil fallback. It refuses every connection.
type refusal struct {
	credentials.TransportCredentials
}

var errRefused = errors.New("grpcxds: the control plane did not configure TLS for this connection, and the credentials have no fallback")

// ServerHandshake implements [credentials.TransportCredentials].
func (refusal) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	_ = conn.Close() // the error says why
	return nil, nil, errRefused
}

// ClientHandshake implements [credentials.TransportCredentials].
func (refusal) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	_ = conn.Close() // the error says why
	return nil, nil, errRefused
}

// Clone implements [credentials.TransportCredentials].
func (r refusal) Clone() credentials.TransportCredentials { return r }
