package grpcxds

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
)

// ServerCredentials are credentials for [NewServer] that secure connections as the control
// plane says (gRFC A29): with TLS where the filter chain of the connection has it, and with
// the fallback where it has none, as also on servers that are not this package's. Where the
// fallback is nil, connections without TLS are closed. It is not used when something is
// wrong with the TLS that the control plane wants.
//
// A handshake takes the certificates that their providers have at that moment; it waits for
// the first ones as long as it may last. What calls see as AuthInfo is a
// [credentials.TLSInfo], or the fallback's.
func ServerCredentials(fallback credentials.TransportCredentials) credentials.TransportCredentials {
	return &xdsCredentials{fallback: orRefuse(fallback)}
}

// ClientCredentials are credentials for [NewClient] and DialOptions that secure
// connections as the control plane says (gRFCs A29, A82, A87, A101): with TLS where the cluster has it,
// and with the fallback where it has none, as also in channels with other targets. Where the
// fallback is nil, connections without TLS are not made. It is not used when something is
// wrong with the TLS that the control plane wants.
//
// A handshake takes the certificates that their providers have at that moment; it waits for
// the first ones as long as it may last. What calls see as AuthInfo is a
// [credentials.TLSInfo], or the fallback's.
func ClientCredentials(fallback credentials.TransportCredentials) credentials.TransportCredentials {
	return &xdsCredentials{fallback: orRefuse(fallback)}
}

// xdsCredentials hand handshakes over to credentials of gRPC that are made for one each.
type xdsCredentials struct {
	fallback credentials.TransportCredentials
}

// ServerHandshake implements [credentials.TransportCredentials].
func (c *xdsCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, ok := conn.(interface{ ServerTLS() (*tls.Config, error) }) // a *security.Conn, or made of one
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
	default: // gRPC would ask for the authority, unless it is told the name (A101)
		return credentials.NewTLS(config).ClientHandshake(ctx, config.ServerName, conn)
	}
}

// Info implements [credentials.TransportCredentials]. The server's name is the fallback's: it
// becomes the authority of channels, by which the fallback verifies servers.
func (c *xdsCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls", ServerName: c.fallback.Info().ServerName} //nolint:staticcheck // credentials still have it
}

// Clone implements [credentials.TransportCredentials].
func (c *xdsCredentials) Clone() credentials.TransportCredentials {
	return &xdsCredentials{fallback: c.fallback.Clone()}
}

// OverrideServerName implements [credentials.TransportCredentials], for the fallback.
func (c *xdsCredentials) OverrideServerName(name string) error {
	return c.fallback.OverrideServerName(name) //nolint:staticcheck // the interface has it
}

// orRefuse is the fallback, or what refuses every connection.
func orRefuse(fallback credentials.TransportCredentials) credentials.TransportCredentials {
	if fallback == nil {
		return refusal{insecure.NewCredentials()}
	}
	return fallback
}

// A refusal is the fallback of those who want none.
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
