package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/testca"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/serve"
)

const (
	clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	eastern    = "xdstp://east/envoy.config.cluster.v3.Cluster/a"
)

// A bench is a server with a source for old-style names and one for the authority "east", for raw
// clients.
type bench struct {
	t          *testing.T
	main, east *source.Memory
	server     *serve.Server
	ca         *testca.CA // nil: no TLS
	listener   *bufconn.Listener
	stop       func()
}

// newBench starts a server. With a CA, its clients need certificates.
func newBench(t *testing.T, ca *testca.CA, opts ...serve.Option) *bench {
	t.Helper()
	return newBenchOf(t, source.NewMemory(), ca, opts...)
}

// newBenchOf starts a server with a main source.
func newBenchOf(t *testing.T, main *source.Memory, ca *testca.CA, opts ...serve.Option) *bench {
	t.Helper()
	b := &bench{t: t, main: main, east: source.NewMemory(), ca: ca, listener: bufconn.Listen(1 << 20)}
	var err error
	if b.server, err = serve.New(types(t), map[string]source.Source{"": b.main, "east": b.east}, opts...); err != nil {
		t.Fatal(err)
	}
	options := serve.ServerOptions()
	if ca != nil {
		own, err := ca.Issue(x509.Certificate{DNSNames: []string{"xds"}})
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{own}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: ca.Pool(),
		})))
	}
	g := grpc.NewServer(options...)
	b.server.Register(g)
	b.server.RegisterHealth(g)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(b.listener) }()
	b.stop = sync.OnceFunc(func() {
		g.Stop()
		<-done
		if err := b.server.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	return b
}

// dial connects a client, with a certificate for a SPIFFE URI unless that is "".
func (b *bench) dial(uri string, opts ...grpc.DialOption) *grpc.ClientConn {
	b.t.Helper()
	creds := insecure.NewCredentials()
	if b.ca != nil {
		config := &tls.Config{RootCAs: b.ca.Pool(), ServerName: "xds"}
		if uri != "" {
			u, err := url.Parse(uri)
			if err != nil {
				b.t.Fatal(err)
			}
			own, err := b.ca.Issue(x509.Certificate{
				URIs: []*url.URL{u}, DNSNames: []string{"cart.example.com"}, Subject: pkix.Name{CommonName: "cart"},
				ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			})
			if err != nil {
				b.t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{own}
		}
		creds = credentials.NewTLS(config)
	}
	cc, err := grpc.NewClient("passthrough:///", append(opts, grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.listener.DialContext(ctx) }))...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cc.Close() })
	return cc
}

type (
	deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	wholeStream = discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
)

func (b *bench) delta(cc *grpc.ClientConn) deltaStream {
	b.t.Helper()
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(cc).DeltaAggregatedResources(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) whole(cc *grpc.ClientConn) wholeStream {
	b.t.Helper()
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(cc).StreamAggregatedResources(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) put(m *source.Memory, name, service string) {
	b.t.Helper()
	if _, err := publish.Put(b.t.Context(), m, cluster.Type(), eds(name, service)); err != nil {
		b.t.Fatal(err)
	}
}

func node(id string) *corev3.Node { return &corev3.Node{Id: id} }
