package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/internal/tlsfiles"
)

// reloading are credentials with the newest certificates in files.
type reloading struct {
	config *tls.Config
	files  *tlsfiles.Reader
}

// ClientHandshake implements [credentials.TransportCredentials].
func (r *reloading) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	m, c := r.files.Current(), r.config.Clone()
	c.Certificates, c.RootCAs = m.Certificates, m.CA
	return credentials.NewTLS(c).ClientHandshake(ctx, authority, raw)
}

// ServerHandshake implements [credentials.TransportCredentials]. It fails, because these credentials are for clients.
func (r *reloading) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("etcd: these credentials are for clients only")
}

// Info implements [credentials.TransportCredentials].
func (r *reloading) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements [credentials.TransportCredentials].
func (r *reloading) Clone() credentials.TransportCredentials {
	return &reloading{config: r.config.Clone(), files: r.files}
}

// OverrideServerName implements [credentials.TransportCredentials].
func (r *reloading) OverrideServerName(name string) error {
	r.config.ServerName = name
	return nil
}

// badFiles logs that changed files are not valid.
func (s *Store) badFiles(err error) {
	s.options.Logger.Warn("files of TLS cannot be used; the store keeps the last valid ones", "error", err.Error())
}
