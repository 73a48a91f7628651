package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// proxies are reverse proxies that one control plane configures.
type proxies struct {
	plane   *controlplane.Server
	env     *xdsforge.Env
	ports   map[route]uint64 // of the proxies
	closing []func() error
}

// A route is a proxy's port of the server behind it, and the version of HTTP.
type route struct{ port, version uint64 }

// http2 is HTTP_VERSION_2 of the runner.
const http2 = 2

func startProxies() (*proxies, error) {
	plane, err := controlplane.Start(controlplane.Standard())
	if err != nil {
		return nil, err
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "proxy"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, plane.Addr()))
	if err != nil {
		return nil, err
	}
	p := &proxies{plane: plane, ports: make(map[route]uint64)}
	p.closing = append(p.closing, func() error { plane.Stop(); return nil })
	if p.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(httpxds.Register), xdsforge.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		return nil, err
	}
	p.closing = append(p.closing, p.env.Close)
	return p, nil
}

func (p *proxies) close() {
	for _, end := range slices.Backward(p.closing) {
		_ = end() // the results are in
	}
}

// before returns the port of a proxy before a port. It starts the proxy if there is none.
func (p *proxies) before(ctx context.Context, port, version uint64) (uint64, error) {
	r := route{port, version}
	if at, ok := p.ports[r]; ok {
		return at, nil
	}
	at, err := p.start(ctx, r)
	p.ports[r] = at
	return at, err
}

func (p *proxies) start(ctx context.Context, r route) (uint64, error) {
	protocol := httpxds.HTTP1
	if r.version == http2 {
		protocol = httpxds.HTTP2
	}
	name := fmt.Sprintf("to-%d-%d", r.port, r.version)
	//nolint:contextcheck // it ends with close
	transport, err := httpxds.NewTransport("xds:///"+name, httpxds.WithEnv(p.env), httpxds.WithProtocol(protocol), httpxds.WithGatewayResponses(),
		httpxds.WithBase(&http.Transport{DisableCompression: true})) // a proxy passes bodies on as they are
	if err != nil {
		return 0, err
	}
	p.closing = append(p.closing, transport.Close)
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), // the runner reports errors
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", name
		}}
	mode := make(chan error, 100)
	server, err := httpxds.NewServer(http.NotFoundHandler(), httpxds.WithEnv(p.env), httpxds.WithForwarding(proxy),
		httpxds.OnMode(func(_ net.Addr, err error) { mode <- err }))
	if err != nil {
		return 0, err
	}
	p.closing = append(p.closing, server.Close)
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go func() { _ = server.Serve(lis) }() //nolint:contextcheck // it ends with close
	if err := p.configure(name, r, portOf(lis.Addr())); err != nil {
		return 0, err
	}
	ready, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	select {
	case err := <-mode:
		if err != nil {
			return 0, err
		}
	case <-ready.Done():
		return 0, fmt.Errorf("the proxy does not serve: %w", ready.Err())
	}
	return portOf(lis.Addr()), transport.Ready(ready)
}

// configure publishes the resources of a proxy.
func (p *proxies) configure(name string, r route, at uint64) error {
	const manager = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		route_config { virtual_hosts { name: "h" domains: "*" routes { match { prefix: "/" } route { cluster: %q timeout {} } } } } }`
	address := fmt.Sprintf("server/127.0.0.1:%d", at)
	return errors.Join(
		p.plane.SetText(address, new(listenerv3.Listener), `name: %q address { socket_address { address: "127.0.0.1" port_value: %d } }
			filter_chains { filters { name: "hcm" typed_config { `+manager+` } } }`, address, at, name),
		p.plane.SetText(name, new(listenerv3.Listener), `name: %q api_listener { api_listener { `+manager+` } }`, name, name),
		p.plane.SetText(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } }`, name),
		p.plane.SetText(name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } }`, name, r.port))
}
