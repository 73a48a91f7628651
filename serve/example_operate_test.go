package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/serve"
)

// newServer returns a server for clients that are not trusted.
func newServer(types *resource.Set, store source.Source) (*serve.Server, error) {
	return serve.New(types, map[string]source.Source{"": store},
		serve.WithPermissions(
			serve.Permission{
				Clients: []string{"spiffe://example.com/ns/shop/*"}, Types: []string{"*"}, Authorities: []string{"", "shop.example.com"},
			},
			serve.Permission{
				Clients: []string{"dns:*.edge.example.com"}, Types: []string{"envoy.config.listener.v3.Listener"}, Authorities: []string{""},
			}),
		serve.WithLimits(serve.Limits{Names: 10_000, ClientStreams: 100}),
		serve.WithMaxStaleness(10*time.Minute),
		serve.WithLoad(30*time.Second, nil))
}

// operate serves until ctx ends, and then drains.
func operate(ctx context.Context, s *serve.Server, clients, operators net.Listener, own tls.Certificate, roots *x509.CertPool) error {
	defer s.Close()
	g := grpc.NewServer(append(serve.ServerOptions(), grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots,
	})))...)
	s.Register(g) //nolint:contextcheck // streams have contexts of their own
	s.RegisterHealth(g)
	go func() { _ = g.Serve(clients) }()
	defer g.Stop()
	pages := &http.Server{Handler: s.StatusHandler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = pages.Serve(operators) }()
	defer pages.Close()

	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return s.Drain(drain, 30*time.Second)
}

// A server with permissions, limits, a status page and health, which drains at its end.
func ExampleServer_Drain() {
	r := registry.New()
	standard.Register(r)
	types, err := r.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := newServer(types, source.NewMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	operators, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(operate(ctx, s, clients, operators, tls.Certificate{}, x509.NewCertPool()))
	// Output: <nil>
}
