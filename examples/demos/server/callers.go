package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge/internal/testca"
)

// serverName is the name in the server's certificates.
const serverName = "shop.example"

// keys has a certificate authority and the folder with the server's certificate.
type keys struct {
	ca  *testca.CA
	dir string
}

func newKeys(dir string) (*keys, error) {
	ca, err := testca.New("shop")
	if err != nil {
		return nil, err
	}
	k := &keys{ca, dir}
	return k, errors.Join(testca.Write(filepath.Join(dir, "ca.pem"), ca.PEM()), k.rotate("first"))
}

// config returns the configuration of the certificate provider, with a short refresh
// interval.
func (k *keys) config() string {
	return fmt.Sprintf(`{"certificate_file": %q, "private_key_file": %q, "ca_certificate_file": %q, "refresh_interval": "0.1s"}`,
		filepath.Join(k.dir, "cert.pem"), filepath.Join(k.dir, "key.pem"), filepath.Join(k.dir, "ca.pem"))
}

// rotate replaces the server's certificate.
func (k *keys) rotate(name string) error {
	c, err := k.ca.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{serverName}})
	if err != nil {
		return err
	}
	return testca.WritePair(k.dir, c)
}

// dial connects to the server with the caller's certificate, as any gRPC client would.
func (k *keys) dial(addr, who string) (*grpc.ClientConn, error) {
	uri, err := url.Parse(identity(who))
	if err != nil {
		return nil, err
	}
	c, err := k.ca.Issue(x509.Certificate{Subject: pkix.Name{CommonName: who}, URIs: []*url.URL{uri}})
	if err != nil {
		return nil, err
	}
	return grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: k.ca.Pool(), ServerName: serverName, Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12,
	})))
}

// seenBy returns the name in the certificate that the server shows to a new caller.
func (k *keys) seenBy(ctx context.Context, addr string) (string, error) {
	cc, err := k.dial(addr, "bob")
	if err != nil {
		return "", err
	}
	defer cc.Close()
	var p peer.Peer
	if err := call(ctx, cc, grpc.Peer(&p)); err != nil {
		return "", err
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return "", fmt.Errorf("the connection is secured by a %T; want TLS", p.AuthInfo)
	}
	return info.State.PeerCertificates[0].Subject.CommonName, nil
}

// method is the method of all calls.
const method = "/shop.Orders/Place"

// answer is the handler of the server. It answers each message of a call with an empty one.
func answer(_ any, s grpc.ServerStream) error {
	for {
		m := new(emptypb.Empty)
		if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
}

func call(ctx context.Context, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
	return cc.Invoke(ctx, method, new(emptypb.Empty), new(emptypb.Empty), opts...)
}

// touch connects and counts the received bytes until the connection ends.
func touch(ctx context.Context, addr string) (int64, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	return io.Copy(io.Discard, c)
}

// connections is a [stats.Handler] that counts the server's connections over all Listeners.
type connections struct{ begun, ended atomic.Int64 }

// TagConn implements [stats.Handler].
func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC implements [stats.Handler].
func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements [stats.Handler].
func (c *connections) HandleRPC(context.Context, stats.RPCStats) {}

// HandleConn implements [stats.Handler].
func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.begun.Add(1)
	case *stats.ConnEnd:
		c.ended.Add(1)
	}
}
