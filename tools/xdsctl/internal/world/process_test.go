package world

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// streaming is a CSDS that has only the streaming method.
type streaming struct {
	statusv3.UnimplementedClientStatusDiscoveryServiceServer
	resp *statusv3.ClientStatusResponse
	reqs chan *statusv3.ClientStatusRequest
}

func (s *streaming) StreamClientStatus(stream statusv3.ClientStatusDiscoveryService_StreamClientStatusServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	s.reqs <- req
	return stream.Send(s.resp)
}

func serve(t *testing.T, service statusv3.ClientStatusDiscoveryServiceServer, opts ...grpc.ServerOption) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	statusv3.RegisterClientStatusDiscoveryServiceServer(s, service)
	done := make(chan error)
	go func() { done <- s.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return lis.Addr().String()
}

func fetch(t *testing.T, d Dialer, addr string, contents bool) ([]Process, error) {
	t.Helper()
	d.Timeout = 10 * time.Second
	c, err := d.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Fetch(context.Background(), contents)
}

// answer is the response of the tests' servers.
func answer() *statusv3.ClientStatusResponse {
	return &statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{{
		Node: &corev3.Node{Id: "n", UserAgentName: "gRPC", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "1"}}, ClientScope: "s",
		GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{
			{TypeUrl: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", Name: "e", ClientStatus: adminv3.ClientResourceStatus_ACKED, LastUpdated: timestamppb.New(time.Unix(1e9, 0))},
			{
				TypeUrl: "type.googleapis.com/envoy.config.listener.v3.Listener", Name: "l", ClientStatus: adminv3.ClientResourceStatus_NACKED,
				LastUpdated: timestamppb.New(time.Time{}), ErrorState: &adminv3.UpdateFailureState{Details: "no", VersionInfo: "2"},
			},
		},
	}}}
}

// A server without the unary method is read by the streaming one.
func TestStreamOnly(t *testing.T) {
	s := &streaming{resp: answer(), reqs: make(chan *statusv3.ClientStatusRequest, 2)}
	addr := serve(t, s)
	list, err := fetch(t, Dialer{}, addr, false)
	if err != nil || len(list) != 1 {
		t.Fatalf("Fetch = %v, %v; want one client", list, err)
	}
	if !(<-s.reqs).GetExcludeResourceContents() {
		t.Error("the request does not exclude the contents")
	}
	p := list[0]
	if p.NodeID != "n" || p.Agent != "gRPC 1" || p.Scope != "s" || p.Address != addr || len(p.Entries) != 2 {
		t.Fatalf("client = %+v", p)
	}
	l, e := p.Entries[0], p.Entries[1] // in the order of a target
	if l.Name != "l" || !l.Failed() || l.Error != "no" || l.RejectedVersion != "2" || !l.Updated.IsZero() {
		t.Errorf("first entry = %+v; want the rejected Listener without a time", l)
	}
	if e.Name != "e" || e.Failed() || e.Updated.Unix() != 1e9 {
		t.Errorf("second entry = %+v; want the accepted assignment", e)
	}
	if _, err := fetch(t, Dialer{}, addr, true); err != nil || (<-s.reqs).GetExcludeResourceContents() {
		t.Errorf("the request excludes the contents, or %v", err)
	}
}

// writePair writes a certificate for "admin.test" and its key.
func writePair(t *testing.T) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "admin.test"}, DNSNames: []string{"admin.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err = tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

// A server with TLS needs the CA, the name and, if it asks for one, a certificate of the client.
func TestTLS(t *testing.T) {
	cert, key, pair := writePair(t)
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(leaf)
	s := &streaming{resp: answer(), reqs: make(chan *statusv3.ClientStatusRequest, 10)}
	addr := serve(t, s, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})))
	for _, tt := range []struct {
		name string
		d    Dialer
		ok   bool
	}{
		{"all", Dialer{CA: cert, Cert: cert, Key: key, ServerName: "admin.test"}, true},
		{"no client certificate", Dialer{CA: cert, ServerName: "admin.test"}, false},
		{"another name", Dialer{CA: cert, Cert: cert, Key: key, ServerName: "other.test"}, false},
		{"the roots of the system", Dialer{TLS: true, Cert: cert, Key: key, ServerName: "admin.test"}, false},
		{"no TLS", Dialer{}, false},
	} {
		if _, err := fetch(t, tt.d, addr, false); (err == nil) != tt.ok {
			t.Errorf("%s: %v; want success: %t", tt.name, err, tt.ok)
		}
	}
	for rule, d := range map[string]Dialer{"must have a certificate in PEM": {CA: key}, "no such file": {CA: "missing"}, "failed to find": {Cert: key, Key: key}} {
		if _, err := d.Dial(addr); err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("Dial: %v; want %q", err, rule)
		}
	}
}
