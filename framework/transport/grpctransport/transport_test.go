package grpctransport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An echo answers each request with a response of the same version. The nonce is the size of the
// response's padding.
type echo struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	filling int
	err     error
}

func (e *echo) StreamAggregatedResources(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	if e.err != nil {
		return e.err
	}
	md, _ := metadata.FromIncomingContext(s.Context())
	for {
		req, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(&discoveryv3.DiscoveryResponse{
			VersionInfo: req.GetVersionInfo(),
			Nonce:       strings.Repeat("x", e.filling),
			TypeUrl:     strings.Join(md["authorization"], ","),
		}); err != nil {
			return err
		}
	}
}

func serve(t *testing.T, lis net.Listener, e *echo, opts ...grpc.ServerOption) {
	t.Helper()
	g := grpc.NewServer(opts...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, e)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Serve(lis)
	}()
	t.Cleanup(func() {
		g.Stop()
		<-done
	})
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the server closes it
	if err != nil {
		t.Fatal(err)
	}
	return lis
}

func entry(t *testing.T, uri, credsType, credsConfig string, callCreds ...bootstrap.CredsSpec) *bootstrap.Server {
	t.Helper()
	c := bootstrap.CredsSpec{Type: credsType}
	if credsConfig != "" {
		c.Config = json.RawMessage(credsConfig)
	}
	s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: uri, ChannelCreds: []bootstrap.CredsSpec{c}, CallCreds: callCreds},
		bootstrap.WithChannelCreds("insecure", "tls", "google_default", "mine"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func dial(t *testing.T, tr *Transport, server *bootstrap.Server) transport.Conn {
	t.Helper()
	c, err := tr.Dial(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// roundTrip sends a version on a new stream and returns the response.
func roundTrip(ctx context.Context, c transport.Conn) (*discoveryv3.DiscoveryResponse, error) {
	s, err := c.OpenStream(ctx, transport.MethodADS)
	if err != nil {
		return nil, err
	}
	req := envelope.Request{Version: "v"}
	if err := s.Send(req.Encode()); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b, err := s.Receive()
	if err != nil {
		return nil, err
	}
	resp := new(discoveryv3.DiscoveryResponse)
	return resp, proto.Unmarshal(b, resp)
}

func TestBytesGoThrough(t *testing.T) {
	lis := listen(t)
	const large = 100 << 20 // like a response with every resource of a large deployment
	serve(t, lis, &echo{filling: large})
	c := dial(t, New(), entry(t, lis.Addr().String(), "insecure", ""))
	resp, err := roundTrip(testContext(t), c)
	if err != nil || resp.GetVersionInfo() != "v" || len(resp.GetNonce()) != large {
		t.Errorf("answer of %d bytes, %v", len(resp.GetNonce()), err)
	}
}

func TestMessageAboveTheLimitEndsTheStream(t *testing.T) {
	lis := listen(t)
	serve(t, lis, &echo{filling: 2000})
	c := dial(t, New(WithMaxReceiveSize(1000), WithMaxReceiveSize(0)), entry(t, lis.Addr().String(), "insecure", ""))
	if _, err := roundTrip(testContext(t), c); err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("error = %v, want the limit", err)
	}
}

func TestErrorsAreWordsOnly(t *testing.T) {
	lis := listen(t)
	serve(t, lis, &echo{err: status.Error(codes.PermissionDenied, "not you")})
	c := dial(t, New(), entry(t, lis.Addr().String(), "insecure", ""))
	_, err := roundTrip(testContext(t), c)
	if err == nil || !strings.Contains(err.Error(), "PermissionDenied: not you") {
		t.Errorf("error = %v", err)
	}
	if _, is := status.FromError(err); is {
		t.Errorf("error %v still has a status", err)
	}
	if !errors.Is(err, &transport.Error{Kind: "PermissionDenied"}) || errors.Is(err, &transport.Error{Kind: "Unavailable"}) {
		t.Errorf("error %v is not of its code's kind, or of another", err)
	}
}

// The server chooses the message of its status. The transport escapes and clips it.
func TestStatusMessagesArePrintable(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.Unimplemented} {
		lis := listen(t)
		serve(t, lis, &echo{err: status.Error(code, "a\nb\x1b[2J\x00\u202e"+strings.Repeat("x", 1<<17))})
		c := dial(t, New(), entry(t, lis.Addr().String(), "insecure", ""))
		_, err := roundTrip(testContext(t), c)
		if err == nil || !strings.Contains(err.Error(), `a\nb\x1b[2J\x00\u202exxx`) || len(err.Error()) > 1200 {
			t.Errorf("%v: the error is %.1300q; want its text escaped and clipped", code, err)
		}
	}
}

// A failed attempt has no effect on the next one, in particular not grpc-go's backoff.
func TestStreamsFailFastAndComeBackWithoutBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis, refused := bufconn.Listen(1<<16), errors.New("refused")
		var up atomic.Bool
		c := dial(t, New(WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if !up.Load() {
				return nil, refused
			}
			return lis.DialContext(ctx)
		}))), entry(t, "passthrough:///memory", "insecure", ""))
		began := time.Now()
		for range 3 {
			if _, err := c.OpenStream(t.Context(), transport.MethodADS); err == nil || !strings.Contains(err.Error(), refused.Error()) {
				t.Fatalf("error = %v, want %v", err, refused)
			}
		}
		serve(t, lis, &echo{})
		up.Store(true)
		if _, err := roundTrip(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the streams waited %v for grpc-go's backoff", waited)
		}
	})
}

// wait serves streams that end only with their connections.
type wait struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
}

func (wait) StreamAggregatedResources(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	if err := s.Send(&discoveryv3.DiscoveryResponse{}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// openStream opens a stream and waits until the server has received it. The channel ended receives
// the error that ended the stream.
func openStream(ctx context.Context, t *testing.T, c transport.Conn) (ended <-chan error) {
	t.Helper()
	s, err := c.OpenStream(ctx, transport.MethodADS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receive(); err != nil {
		t.Fatal(err)
	}
	ch := make(chan error, 1)
	go func() {
		_, err := s.Receive()
		ch <- err
	}()
	return ch
}

// A server that shuts down lets its streams end. A client that cannot open another stream must not
// end them.
func TestStreamsOfADrainingServerLiveOn(t *testing.T) {
	lis := listen(t)
	g := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, wait{})
	drained := make(chan struct{})
	go func() { _ = g.Serve(lis) }()
	c := dial(t, New(), entry(t, lis.Addr().String(), "insecure", ""))
	ctx := testContext(t)
	ended := openStream(ctx, t, c)
	go func() {
		defer close(drained)
		g.GracefulStop()
	}()
	for failed := 0; failed < 3 && ctx.Err() == nil; { // before the server shuts down, they succeed
		if _, err := c.OpenStream(ctx, transport.MethodADS); err != nil {
			failed++
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("the stream was ended: %v", err)
	default:
	}
	g.Stop()
	if err := <-ended; err == nil {
		t.Error("the stream outlived its server")
	}
	<-drained
}

// A server may limit the streams of a connection. grpc-go then waits without an error.
func TestFurtherConnectionWhereStreamsAreLimited(t *testing.T) {
	lis := &countingListener{Listener: listen(t)}
	g := grpc.NewServer(grpc.MaxConcurrentStreams(2))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, wait{})
	go func() { _ = g.Serve(lis) }()
	t.Cleanup(g.Stop)
	c := dial(t, New(), entry(t, lis.Addr().String(), "insecure", ""))
	ctx := testContext(t)
	first, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := openStream(first, t, c)
	for range 2 {
		openStream(ctx, t, c)
	}
	if n := lis.accepted.Load(); n != 2 {
		t.Errorf("%d connections for three streams, two on each; want 2", n)
	}
	cancel() // makes room on the first connection
	if err := <-ended; err == nil {
		t.Error("a cancelled stream is still open")
	}
	openStream(ctx, t, c)
	openStream(ctx, t, c)
	if n := lis.accepted.Load(); n != 2 {
		t.Errorf("%d connections for four streams, two on each; want 2", n)
	}
}

type countingListener struct {
	net.Listener
	accepted atomic.Int32
}

// Accept implements [net.Listener].
func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

func TestClosedConn(t *testing.T) {
	c, err := New().Dial(entry(t, "127.0.0.1:1", "insecure", ""))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.OpenStream(testContext(t), transport.MethodADS); !errors.Is(err, errClosed) {
		t.Errorf("error = %v, want errClosed", err)
	}
}

func TestDialOptions(t *testing.T) {
	lis := bufconn.Listen(1 << 16)
	serve(t, lis, &echo{})
	dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) })
	c := dial(t, New(WithDialOptions(dialer)), entry(t, "passthrough:///in-process", "insecure", ""))
	if _, err := roundTrip(testContext(t), c); err != nil {
		t.Fatal(err)
	}
}

// certificates writes a self-signed certificate for 127.0.0.1. It returns the files and the
// server's key pair.
func certificates(t *testing.T, dir string) (cert, key string, pair tls.Certificate) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, content := range map[string][]byte{cert: certPEM, key: keyPEM} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

func TestMutualTLSFromFiles(t *testing.T) {
	cert, key, pair := certificates(t, t.TempDir())
	roots := x509.NewCertPool()
	roots.AddCert(mustParse(t, pair))
	lis := listen(t)
	serve(t, lis, &echo{}, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})))
	token := filepath.Join(t.TempDir(), "token")
	// {"alg":"none"}.{"exp":4102444800}: valid until 2100
	jwt := "eyJhbGciOiJub25lIn0.eyJleHAiOjQxMDI0NDQ4MDB9.sig"
	if err := os.WriteFile(token, []byte(jwt), 0o600); err != nil {
		t.Fatal(err)
	}
	files := func(cert, key, ca string) string {
		return `{"certificate_file": "` + cert + `", "private_key_file": "` + key + `", "ca_certificate_file": "` + ca + `", "refresh_interval": "0.1s"}`
	}
	call := bootstrap.CredsSpec{Type: "jwt_token_file", Config: json.RawMessage(`{"jwt_token_file": "` + token + `"}`)}
	c := dial(t, New(), entry(t, lis.Addr().String(), "tls", files(cert, key, cert), call))
	resp, err := roundTrip(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if resp.GetTypeUrl() != "Bearer "+jwt {
		t.Errorf("authorization = %q, want the token", resp.GetTypeUrl())
	}

	_, _, stranger := certificates(t, t.TempDir())
	otherLis := listen(t)
	serve(t, otherLis, &echo{}, grpc.Creds(credentials.NewServerTLSFromCert(&stranger)))
	c = dial(t, New(), entry(t, otherLis.Addr().String(), "tls", files(cert, key, cert)))
	if _, err := roundTrip(testContext(t), c); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server with a certificate of another root: %v", err)
	}
}

func mustParse(t *testing.T, pair tls.Certificate) *x509.Certificate {
	t.Helper()
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The next connection uses the new files.
func TestTLSFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, _, _ := certificates(t, dir)
	serverDir := t.TempDir()
	serverCert, _, pair := certificates(t, serverDir)
	lis := listen(t)
	serve(t, lis, &echo{}, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	c := dial(t, New(), entry(t, lis.Addr().String(), "tls", `{"ca_certificate_file": "`+cert+`", "refresh_interval": "0.05s"}`))
	ctx := testContext(t)
	if _, err := roundTrip(ctx, c); err == nil {
		t.Fatal("the server was trusted without its root")
	}
	b, err := os.ReadFile(serverCert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cert, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err = roundTrip(ctx, c); err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the new root was not used: %v", err)
		}
	}
}

func TestCredentialsThatCannotBeBuilt(t *testing.T) {
	for _, c := range []struct{ typ, config, want string }{
		{"mine", "", "WithChannelCredentials"},
		{"tls", `{"ca_certificate_file": "/nowhere/ca.pem", "refresh_interval": "soon"}`, "refresh_interval"},
		{"tls", `{"ca_certificate_file": "/nowhere/ca.pem", "refresh_interval": null}`, "/nowhere/ca.pem: no such file"},
		{"tls", `{"ca_certificate_file": "` + os.DevNull + `"}`, "the file contains no certificate"},
		{"tls", `{"certificate_file": "/nowhere/cert.pem", "private_key_file": "/nowhere/key.pem"}`, "/nowhere/cert.pem: no such file"},
	} {
		creds := bootstrap.CredsSpec{Type: c.typ}
		if c.config != "" {
			creds.Config = json.RawMessage(c.config)
		}
		spec := bootstrap.ServerSpec{URI: "127.0.0.1:1", ChannelCreds: []bootstrap.CredsSpec{creds}}
		s, err := bootstrap.NewServer(spec, bootstrap.WithChannelCreds("mine", "tls"))
		if err == nil {
			_, err = New().Dial(s)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error = %v, want %q in it", c.typ, c.config, err, c.want)
		}
	}
	mine := WithChannelCredentials("mine", func(json.RawMessage) (credentials.Bundle, func(), error) {
		return insecure.NewBundle(), nil, nil
	})
	lis := listen(t)
	serve(t, lis, &echo{})
	if _, err := roundTrip(testContext(t), dial(t, New(mine), entry(t, lis.Addr().String(), "mine", ""))); err != nil {
		t.Errorf("credentials of the program's own: %v", err)
	}
}
