package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/httpxds"
)

// endpoints is the number of endpoints.
const endpoints = 4

// proxies are a forwarding server with a Transport, and a plain reverse proxy, in front of the same endpoints.
type proxies struct {
	*world
	endpoints []*endpoint
	clients   []chaosClient
	addr      [2]string // of the forwarding server and of the plain one
	nginx     [2]string // of nginx in front of these
	changes   int
	deaths    atomic.Int64
	panics    atomic.Int64
	closing   []func()
}

// ours returns the address of the forwarding server for a client, and theirs that of the plain one.
func (p *proxies) ours(c chaosClient) string   { return p.through(c, 0) }
func (p *proxies) theirs(c chaosClient) string { return p.through(c, 1) }

func (p *proxies) through(c chaosClient, i int) string {
	if c.nginx {
		return p.nginx[i]
	}
	return p.addr[i]
}

func (p *proxies) close() {
	for i := range p.closing {
		p.closing[len(p.closing)-1-i]()
	}
}

func newProxies(ctx context.Context, w *world) (*proxies, error) {
	p := &proxies{world: w, clients: chaosClients(w.dir)}
	for range endpoints {
		e, err := newEndpoint(ctx)
		if err != nil {
			return nil, err
		}
		p.endpoints = append(p.endpoints, e)
		p.closing = append(p.closing, e.die)
	}
	for _, start := range []func(context.Context) error{p.forward, p.plain, p.startNginx} {
		if err := start(ctx); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// proxy returns a reverse proxy.
func proxy(rt http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{Transport: rt, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "svc"
	}}
}

// forward starts the forwarding server.
func (p *proxies) forward(ctx context.Context) error {
	for part := range 4 {
		if err := p.change(part); err != nil {
			return err
		}
	}
	transport, err := httpxds.NewTransport("xds:///svc", httpxds.WithEnv(p.env), httpxds.WithGatewayResponses()) //nolint:contextcheck // it has none
	if err != nil {
		return err
	}
	p.closing = append(p.closing, func() { _ = transport.Close() }) // it has no errors
	modes := make(chan error, 1000)
	server, err := httpxds.NewServer(http.NotFoundHandler(), httpxds.WithEnv(p.env), httpxds.WithForwarding(proxy(transport)),
		httpxds.WithHTTPServer(&http.Server{ErrorLog: p.log()}), //nolint:gosec // a template
		httpxds.OnMode(func(_ net.Addr, err error) { modes <- err }))
	if err != nil {
		return err
	}
	p.closing = append(p.closing, func() { _ = server.Close() }) //nolint:contextcheck // it ends all parts
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.addr[0] = lis.Addr().String()
	go func() { _ = server.Serve(lis) }() //nolint:contextcheck // it ends with close
	if err := p.change(0); err != nil {
		return err
	}
	select {
	case err := <-modes:
		return errors.Join(err, transport.Ready(ctx))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// plain starts the reverse proxy of net/http. It sends the requests to the endpoints in turn.
func (p *proxies) plain(ctx context.Context) error {
	base := &http.Transport{MaxIdleConnsPerHost: 100}
	var next atomic.Uint64
	server := &http.Server{ErrorLog: silent, Handler: proxy(roundTrip(func(r *http.Request) (*http.Response, error) { //nolint:gosec // for clients of this program
		out := *r
		u := *r.URL
		u.Host, out.URL = p.endpoints[next.Add(1)%endpoints].addr, &u
		return base.RoundTrip(&out)
	}))}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.addr[1] = lis.Addr().String()
	p.closing = append(p.closing, base.CloseIdleConnections, func() { _ = server.Close() })
	go func() { _ = server.Serve(lis) }() // it ends with close
	return nil
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// startNginx starts nginx as a reverse proxy in front of both servers, with connections that stay open.
func (p *proxies) startNginx(ctx context.Context) error {
	var servers strings.Builder
	for i, addr := range p.addr {
		listen, err := freePort(ctx)
		if err != nil {
			return err
		}
		p.nginx[i] = listen
		fmt.Fprintf(&servers, `upstream u%[1]d { server %[2]s max_fails=0; keepalive 16; } server { listen %[3]s; client_max_body_size 0; location / { proxy_pass http://u%[1]d;
			proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream off; proxy_request_buffering off; } } `, i, addr, listen)
	}
	config := filepath.Join(p.dir, "chaos.conf")
	text := fmt.Sprintf(`daemon off; pid %[1]s/chaos.pid; error_log stderr crit; events { worker_connections 1024; } http { access_log off; keepalive_requests 1000000;
		client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3; uwsgi_temp_path %[1]s/4; scgi_temp_path %[1]s/5; %[2]s }`, p.dir, servers.String())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	stop, err := startNginx(ctx, p.dir, config)
	if err != nil {
		return err
	}
	p.closing = append(p.closing, func() { _ = stop() }) // it was interrupted
	return until(ctx, func() bool { return connects(ctx, p.nginx[0]) && connects(ctx, p.nginx[1]) })
}

// change changes a part of the configuration.
func (p *proxies) change(part int) error {
	p.changes++
	n := p.changes
	switch part {
	case 0:
		return p.listenAgain(n)
	case 1:
		return p.plane.SetText("svc", new(listenerv3.Listener), `name: "svc" api_listener { api_listener { %s { %s route_config { virtual_hosts { name: "h" domains: "*"
			routes { match { prefix: "/" } route { cluster: "c" } request_headers_to_add { header { key: "x-change" value: "%d" } } } } } } } }`, managerAny, routerEnd, n)
	case 2:
		return p.plane.SetText("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } lb_policy: %s connect_timeout { seconds: %d }
			circuit_breakers { thresholds { max_connections { value: 10000 } max_pending_requests { value: 10000 } max_requests { value: 10000 } } }`,
			[]string{"ROUND_ROBIN", "LEAST_REQUEST"}[n%2], 5+n%3)
	default:
		var b strings.Builder
		for i, e := range p.endpoints {
			host, port, err := net.SplitHostPort(e.addr)
			if err != nil {
				return err
			}
			if i != n%(endpoints+1) { // sometimes all are there
				fmt.Fprintf(&b, `lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } `, host, port)
			}
		}
		return p.plane.SetText("c", new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality { region: "r" } load_balancing_weight { value: 1 } %s }`, b.String())
	}
}

// listenAgain publishes the Listener of the forwarding server.
func (p *proxies) listenAgain(n int) error {
	if p.addr[0] == "" {
		return nil // it does not listen yet
	}
	_, port, err := net.SplitHostPort(p.addr[0])
	if err != nil {
		return err
	}
	name := "server/" + p.addr[0]
	return p.plane.SetText(name, new(listenerv3.Listener), `name: %q address { socket_address { address: "127.0.0.1" port_value: %s } }
		filter_chains { name: "%d" filters { name: "hcm" typed_config { %s { %s route_config { name: "r" virtual_hosts { name: "v" domains: "*"
			routes { match { prefix: "/" } route { cluster: "c" } response_headers_to_add { header { key: "x-listener" value: "%d" } } } } } } } } }`, name, port, n, managerAny, routerEnd, n)
}

// keepChanging changes one part after the other.
func (p *proxies) keepChanging(ctx context.Context) {
	tick := time.NewTicker(changeEvery)
	defer tick.Stop()
	for part := 0; ; part++ {
		select {
		case <-tick.C:
			if err := p.change(part % 4); err != nil {
				fmt.Println("a change failed:", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// keepKilling ends one endpoint after the other for a while.
func (p *proxies) keepKilling(ctx context.Context) {
	for {
		timer := time.NewTimer(dieEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		e := p.endpoints[rand.IntN(endpoints)]
		e.die()
		p.deaths.Add(1)
		e.restart(ctx, dieEvery/3)
	}
}
