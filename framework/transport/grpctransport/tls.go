package grpctransport

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
)

// defaultRefresh is how often certificate files are read (gRFC A65).
const defaultRefresh = 10 * time.Minute

// tlsConfig is the config of the tls channel credentials (gRFC A65). Without
// files, the system's roots decide and no client certificate is presented.
type tlsConfig struct {
	CertificateFile   string          `json:"certificate_file"`
	PrivateKeyFile    string          `json:"private_key_file"`
	CACertificateFile string          `json:"ca_certificate_file"`
	RefreshInterval   json.RawMessage `json:"refresh_interval"`
}

func newTLS(raw json.RawMessage) (credentials.Bundle, func(), error) {
	var c tlsConfig
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, nil, fmt.Errorf("config: %w", err)
		}
	}
	if (c.CertificateFile == "") != (c.PrivateKeyFile == "") {
		return nil, nil, errors.New("config: certificate_file and private_key_file must be given together")
	}
	refresh := defaultRefresh
	if len(c.RefreshInterval) > 0 {
		var d durationpb.Duration
		if err := protojson.Unmarshal(c.RefreshInterval, &d); err != nil {
			return nil, nil, fmt.Errorf("config: refresh_interval = %s; must be a duration such as \"600s\": %w", c.RefreshInterval, err)
		}
		refresh = d.AsDuration()
	}
	if c.CertificateFile == "" && c.CACertificateFile == "" {
		return bundle{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})}, nil, nil
	}
	provider, err := pemfile.NewProvider(pemfile.Options{
		CertFile:        c.CertificateFile,
		KeyFile:         c.PrivateKeyFile,
		RootFile:        c.CACertificateFile,
		RefreshDuration: refresh,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("config: %w", err)
	}
	return bundle{&reloadingTLS{provider: provider}}, provider.Close, nil
}

// reloadingTLS asks for the key material at each handshake, so that files that
// change are used for the next connection.
type reloadingTLS struct {
	provider   certprovider.Provider
	serverName string
}

// ClientHandshake implements [credentials.TransportCredentials].
func (r *reloadingTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	km, err := r.provider.KeyMaterial(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("grpctransport: reading certificates: %w", err)
	}
	creds := credentials.NewTLS(&tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: km.Certs,
		RootCAs:      km.Roots,
		ServerName:   r.serverName,
	})
	return creds.ClientHandshake(ctx, authority, raw)
}

// ServerHandshake implements [credentials.TransportCredentials]; these
// credentials are for clients.
func (r *reloadingTLS) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("grpctransport: these credentials are for clients only")
}

// Info implements [credentials.TransportCredentials].
func (r *reloadingTLS) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements [credentials.TransportCredentials].
func (r *reloadingTLS) Clone() credentials.TransportCredentials {
	clone := *r
	return &clone
}

// OverrideServerName implements [credentials.TransportCredentials].
func (r *reloadingTLS) OverrideServerName(name string) error {
	r.serverName = name
	return nil
}

// A bundle is transport credentials alone.
type bundle struct {
	transport credentials.TransportCredentials
}

// TransportCredentials implements [credentials.Bundle].
func (b bundle) TransportCredentials() credentials.TransportCredentials { return b.transport.Clone() }

// PerRPCCredentials implements [credentials.Bundle].
func (bundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }

// NewWithMode implements [credentials.Bundle]; there are no other modes.
func (b bundle) NewWithMode(string) (credentials.Bundle, error) { return b, nil }
