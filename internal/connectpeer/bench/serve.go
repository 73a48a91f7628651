package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"

	"connectrpc.com/connect"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"                   // for prototext
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/process"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// rootsFile is the file of the certificate authority in the folder of the server.
const rootsFile = "ca.pem"

// serverName is the name in the server's certificate.
const serverName = "server.example"

// Addresses are those of the server, without TLS and with it, and of the control plane.
type Addresses struct{ Plain, Secure, Plane string }

// served is the receiver of the server's process.
type served struct{ at Addresses }

// Where returns the addresses.
func (s *served) Where(_ struct{}, at *Addresses) error { //nolint:unparam // net/rpc requires a result
	*at = s.at
	return nil
}

// serve runs the server and the control plane until the parent process stops it.
func serve(ctx context.Context, dir string) error {
	config, err := serverTLS(dir)
	if err != nil {
		return err
	}
	var at Addresses
	mux := http.NewServeMux()
	mux.HandleFunc("/", echo)
	mux.Handle(method, connect.NewUnaryHandler(method, func(_ context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
		return connect.NewResponse(wrapperspb.String(r.Msg.GetValue())), nil
	}))
	for _, addr := range []*string{&at.Plain, &at.Secure} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		*addr = l.Addr().String()
		s := &http.Server{Handler: mux, TLSConfig: config.Clone(), Protocols: new(http.Protocols)} //nolint:gosec // only the parent process connects
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetHTTP2(true)
		s.Protocols.SetUnencryptedHTTP2(true)
		if addr == &at.Secure {
			go func() { _ = s.ServeTLS(l, "", "") }() // it ends with the process
		} else {
			go func() { _ = s.Serve(l) }() // likewise
		}
	}
	plane, err := controlplane.Start(controlplane.Standard()) //nolint:contextcheck // it ends with the process
	if err != nil {
		return err
	}
	at.Plane = plane.Addr()
	if err := configure(plane, &at); err != nil {
		return err
	}
	return process.Serve(&served{at})
}

func serverTLS(dir string) (*tls.Config, error) {
	ca, err := testca.New("bench")
	if err != nil {
		return nil, err
	}
	c, err := ca.Issue(x509.Certificate{DNSNames: []string{serverName}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS13}, testca.Write(filepath.Join(dir, rootsFile), ca.PEM())
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// echo responds with the body of the request.
func echo(w http.ResponseWriter, r *http.Request) {
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	if n := int(r.ContentLength); cap(*b) < n {
		*b = make([]byte, n)
	}
	body := (*b)[:r.ContentLength]
	if _, err := io.ReadFull(r.Body, body); err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client reports errors
}

// configure publishes the three targets.
func configure(plane *controlplane.Server, at *Addresses) error {
	targets := []struct{ name, addr, route, cluster string }{
		{"plain", at.Plain, "timeout { seconds: 15 }", ""},
		{"unlimited", at.Plain, "timeout {}", ""},
		{"tls", at.Secure, "timeout { seconds: 15 }", fmt.Sprintf(`transport_socket { name: "tls" typed_config {
			[type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] { common_tls_context { validation_context {
				ca_certificate_provider_instance { instance_name: "files" } match_subject_alt_names { exact: %q } } } } } }`, serverName)},
	}
	errs := make([]error, 0, 4*len(targets))
	for _, t := range targets {
		host, port, err := net.SplitHostPort(t.addr)
		errs = append(errs, err,
			plane.SetText(t.name, new(listenerv3.Listener), `name: %q api_listener { api_listener {
				[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
					http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
					route_config { virtual_hosts { name: "h" domains: "*"
						routes { match { path: "/other" } route { cluster: %q } }
						routes { match { prefix: "/another/" } route { cluster: %q } }
						routes { match { prefix: "" } route { cluster: %q %s } } } } } } }`, t.name, t.name, t.name, t.name, t.route),
			plane.SetText(t.name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } } %s`, t.name, t.cluster),
			plane.SetText(t.name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
				lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } }`, t.name, host, port))
	}
	return errors.Join(errs...)
}
