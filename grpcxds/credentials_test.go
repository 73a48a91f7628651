package grpcxds_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// files are the certificates of a test, which file_watcher provides as the instance "files".
type files struct {
	testing.TB
	dir       string
	providers *security.Providers
}

func newFiles(t testing.TB) *files {
	t.Helper()
	f := &files{TB: t, dir: t.TempDir()}
	config, err := json.Marshal(map[string]string{
		"certificate_file": filepath.Join(f.dir, "cert.pem"), "private_key_file": filepath.Join(f.dir, "key.pem"),
		"ca_certificate_file": filepath.Join(f.dir, "ca.pem"), "refresh_interval": "0.005s",
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bootstrap.New(bootstrap.Spec{
		Servers:              []bootstrap.ServerSpec{{URI: "x", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}},
		CertificateProviders: map[string]bootstrap.CertificateProvider{"files": {PluginName: "file_watcher", Config: config}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.providers, err = security.NewProviders(b, []security.Plugin{security.Plugin(*certprovider.FileWatcher())}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.providers.Close)
	return f
}

// rotate writes another certificate, of an authority that becomes the root.
func (f *files) rotate(name string) {
	f.Helper()
	ca, err := testca.New(name)
	if err != nil {
		f.Fatal(err)
	}
	c, err := ca.Issue(x509.Certificate{DNSNames: []string{name}})
	if err != nil {
		f.Fatal(err)
	}
	if err := testca.Write(filepath.Join(f.dir, "ca.pem"), ca.PEM()); err != nil {
		f.Fatal(err)
	}
	if err := testca.WritePair(f.dir, c); err != nil {
		f.Fatal(err)
	}
}

func filesInstance() tlscontext.Instance { return tlscontext.Instance{Provider: "files"} }

// A securedListener returns connections with the TLS of a filter chain.
type securedListener struct {
	net.Listener
	tls *security.Server
}

func (l securedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return security.NewConn(c, l.tls), nil
}

// serve starts a gRPC server with credentials. Its connections have the TLS of a filter chain.
func serve(t testing.TB, creds credentials.TransportCredentials, chain *security.Server, opts ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(append(opts, grpc.Creds(creds))...)
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan struct{})
	go func() { _ = s.Serve(securedListener{l, chain}); close(done) }()
	t.Cleanup(func() {
		s.Stop()
		<-done
		chain.Close()
	})
	return l.Addr().String()
}

// dial returns a channel to an address with the TLS of a cluster.
func dial(t testing.TB, creds credentials.TransportCredentials, addr string, cluster *security.Cluster, hostname string) healthpb.HealthClient {
	t.Helper()
	r := manual.NewBuilderWithScheme("test")
	a := resolver.Address{Addr: addr}
	if cluster != nil {
		a = security.WithCluster(a, cluster, hostname)
		t.Cleanup(cluster.Close)
	}
	r.InitialState(resolver.State{Addresses: []resolver.Address{a}})
	c, err := grpc.NewClient("test:///authority.example", grpc.WithResolvers(r), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return healthpb.NewHealthClient(c)
}

// check makes a call and returns the client's information about the connection.
func check(t testing.TB, c healthpb.HealthClient) (credentials.AuthInfo, error) {
	t.Helper()
	var p peer.Peer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := c.Check(ctx, new(healthpb.HealthCheckRequest), grpc.Peer(&p))
	return p.AuthInfo, err
}

// Both sides read their certificates from files. After a change, new connections use the new
// certificates, and the old connections stay.
func TestCredentialsRotate(t *testing.T) {
	f := newFiles(t)
	f.rotate("one.example")
	chain := f.providers.Server(&tlscontext.Server{Identity: filesInstance(), Roots: filesInstance(), RequireClientCertificate: true})
	seen := make(chan credentials.AuthInfo, 10)
	addr := serve(t, grpcxds.ServerCredentials(nil), chain, grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		p, _ := peer.FromContext(s.Context())
		seen <- p.AuthInfo
		return h(srv, s)
	}))
	connect := func() healthpb.HealthClient {
		cluster := f.providers.Cluster()
		cluster.Update(&tlscontext.Client{Identity: filesInstance(), Roots: filesInstance(), AutoHostSNI: true, AutoSNISANValidation: true})
		return dial(t, grpcxds.ClientCredentials(nil), addr, cluster, "one.example:80")
	}
	old := connect()
	stream, err := old.Watch(t.Context(), new(healthpb.HealthCheckRequest))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	info, ok := (<-seen).(credentials.TLSInfo)
	if !ok || info.State.PeerCertificates[0].DNSNames[0] != "one.example" || info.SecurityLevel != credentials.PrivacyAndIntegrity {
		t.Errorf("the server sees %+v", info)
	}

	// A client that verifies the name rejects a certificate with another name.
	f.rotate("two.example")
	deadline := time.Now().Add(time.Minute)
	for err = nil; err == nil && time.Now().Before(deadline); {
		_, err = check(t, connect())
	}
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v; want that the certificate is wrong", err)
	}
	f.rotate("one.example")
	for err = os.ErrNotExist; err != nil && time.Now().Before(deadline); {
		_, err = check(t, connect())
	}
	if err != nil {
		t.Error(err)
	}
	if got, err := check(t, old); err != nil || got.(credentials.TLSInfo).State.NegotiatedProtocol != "h2" {
		t.Errorf("the first connection: %v, %v", got, err)
	}
	if err := stream.Context().Err(); err != nil {
		t.Errorf("the first stream: %v", err)
	}
}

// The fallback credentials apply only if the control plane configures no TLS.
func TestFallback(t *testing.T) {
	f := newFiles(t)
	f.rotate("one.example")
	ca, err := os.ReadFile(filepath.Join(f.dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(filepath.Join(f.dir, "cert.pem"), filepath.Join(f.dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	plain := insecure.NewCredentials()
	own := credentials.NewTLS(&tls.Config{ServerName: "one.example", RootCAs: pool, Certificates: []tls.Certificate{pair}})
	broken := &tlscontext.Client{Roots: tlscontext.Instance{Provider: "unknown"}}
	good := &tlscontext.Client{Roots: filesInstance()}
	for _, test := range []struct {
		name           string
		server, client credentials.TransportCredentials
		chain          *tlscontext.Server
		cluster        *tlscontext.Client
		want           string // a part of the error, or the kind of connection
	}{
		{"plain on both sides", grpcxds.ServerCredentials(plain), grpcxds.ClientCredentials(plain), nil, nil, "insecure"},
		{"plain, with other credentials", plain, grpcxds.ClientCredentials(plain), nil, nil, "insecure"},
		{"the users' TLS", grpcxds.ServerCredentials(own), grpcxds.ClientCredentials(own), nil, nil, "tls"},
		{"the chain's TLS", grpcxds.ServerCredentials(plain), grpcxds.ClientCredentials(plain), &tlscontext.Server{Identity: filesInstance()}, good, "tls"},
		{"the chain's TLS, and a client of its own", grpcxds.ServerCredentials(plain), own, &tlscontext.Server{Identity: filesInstance()}, good, "tls"},
		{"other credentials of a server do not know the chain", plain, grpcxds.ClientCredentials(plain), &tlscontext.Server{Identity: filesInstance()}, nil, "insecure"},
		{"a server without fallback", grpcxds.ServerCredentials(nil), grpcxds.ClientCredentials(plain), nil, nil, "error"},
		{"a client without fallback", grpcxds.ServerCredentials(plain), grpcxds.ClientCredentials(nil), nil, nil, "no fallback"},
		{"a client without roots", grpcxds.ServerCredentials(plain), grpcxds.ClientCredentials(plain), nil, broken, "is not in the bootstrap"},
		{"a server without identity", grpcxds.ServerCredentials(plain), grpcxds.ClientCredentials(plain), &tlscontext.Server{Identity: tlscontext.Instance{Provider: "unknown"}}, nil, "error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			addr := serve(t, test.server, f.providers.Server(test.chain))
			cluster := f.providers.Cluster()
			cluster.Update(test.cluster)
			info, err := check(t, dial(t, test.client.Clone(), addr, cluster, ""))
			switch {
			case err != nil && !strings.Contains(err.Error(), test.want):
				t.Errorf("%v; want %s", err, test.want)
			case err == nil && info.AuthType() != test.want:
				t.Errorf("%s; want %s", info.AuthType(), test.want)
			}
		})
	}
}

// A handshake waits for a certificate that is not available yet. It fails when the server's time
// for handshakes is over.
func TestHandshakeWaits(t *testing.T) {
	f := newFiles(t)
	roots := newFiles(t)
	chain := f.providers.Server(&tlscontext.Server{Identity: filesInstance()})
	addr := serve(t, grpcxds.ServerCredentials(nil), chain, grpc.ConnectionTimeout(50*time.Millisecond))
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if n, err := raw.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("%d bytes, %v; the connection is to be closed", n, err)
	}

	patient := f.providers.Server(&tlscontext.Server{Identity: filesInstance()})
	addr = serve(t, grpcxds.ServerCredentials(nil), patient)
	ca, err := testca.New("one.example")
	if err != nil {
		t.Fatal(err)
	}
	if err := testca.Write(filepath.Join(roots.dir, "ca.pem"), ca.PEM()); err != nil {
		t.Fatal(err)
	}
	cluster := roots.providers.Cluster()
	cluster.Update(&tlscontext.Client{Roots: filesInstance()})
	got := make(chan error)
	go func() {
		_, err := check(t, dial(t, grpcxds.ClientCredentials(nil), addr, cluster, ""))
		got <- err
	}()
	c, err := ca.Issue(x509.Certificate{})
	if err != nil {
		t.Fatal(err)
	}
	if err := testca.WritePair(f.dir, c); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// Info returns the fallback's server name. It is the authority of channels for which the control
// plane configures no TLS.
func TestCredentialsInfo(t *testing.T) {
	c := grpcxds.ClientCredentials(credentials.NewTLS(&tls.Config{ServerName: "one.example"}))
	if got := c.Info(); got.SecurityProtocol != "tls" || got.ServerName != "one.example" { //nolint:staticcheck // credentials still have it
		t.Errorf("%+v", got)
	}
	clone := c.Clone()
	if err := clone.OverrideServerName("two.example"); err != nil { //nolint:staticcheck // the interface has it
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Info().ServerName, clone.Info().ServerName); got != "one.exampletwo.example" { //nolint:staticcheck // credentials still have it
		t.Error(got)
	}
}
