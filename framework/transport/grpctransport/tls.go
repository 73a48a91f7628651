package grpctransport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
)

// defaultRefresh is the interval of reading certificate files (gRFC A65).
const defaultRefresh = 10 * time.Minute

// tlsConfig is the config of the tls channel credentials (gRFC A65). Without files, the client uses
// the system's roots and presents no certificate.
type tlsConfig struct {
	CertificateFile   string `json:"certificate_file"`
	PrivateKeyFile    string `json:"private_key_file"`
	CACertificateFile string `json:"ca_certificate_file"`
	RefreshInterval   string `json:"refresh_interval"`
}

// readable returns the current error of the files. A provider would retry only at its next
// interval, without telling the waiting handshakes.
func (c *tlsConfig) readable() error {
	if c.CertificateFile != "" {
		if _, err := tls.LoadX509KeyPair(c.CertificateFile, c.PrivateKeyFile); err != nil {
			return fmt.Errorf("config: certificate_file = %q, private_key_file = %q; must be a certificate and its key: %w", c.CertificateFile, c.PrivateKeyFile, err)
		}
	}
	if c.CACertificateFile != "" {
		roots, err := os.ReadFile(c.CACertificateFile)
		if err == nil && !x509.NewCertPool().AppendCertsFromPEM(roots) {
			err = errors.New("the file contains no certificate")
		}
		if err != nil {
			return fmt.Errorf("config: ca_certificate_file = %q; must hold certificates: %w", c.CACertificateFile, err)
		}
	}
	return nil
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
	if c.RefreshInterval != "" {
		var d durationpb.Duration
		if err := protojson.Unmarshal([]byte(strconv.Quote(c.RefreshInterval)), &d); err != nil {
			return nil, nil, fmt.Errorf("config: refresh_interval = %q; must be a duration such as \"600s\": %w", c.RefreshInterval, err)
		}
		refresh = d.AsDuration() // above zero: package bootstrap has checked it
	}
	if c.CertificateFile == "" && c.CACertificateFile == "" {
		return bundle{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})}, nil, nil
	}
	if err := c.readable(); err != nil {
		return nil, nil, err
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

// reloadingTLS gets the key material at each handshake, so that the next connection uses changed
// files.
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

// ServerHandshake implements [credentials.TransportCredentials]. It fails, because these
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

// A bundle holds only transport credentials.
type bundle struct {
	transport credentials.TransportCredentials
}

// TransportCredentials implements [credentials.Bundle].
func (b bundle) TransportCredentials() credentials.TransportCredentials { return b.transport.Clone() }

// PerRPCCredentials implements [credentials.Bundle].
func (bundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }

// NewWithMode implements [credentials.Bundle]; there are no other modes.
func (b bundle) NewWithMode(string) (credentials.Bundle, error) { return b, nil }
