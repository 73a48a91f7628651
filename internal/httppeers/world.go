package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"                       // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

const (
	managerAny = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]`
	routerEnd  = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }`
)

// A world is a control plane with an Env.
type world struct {
	dir     string // for files of the peers
	plane   *controlplane.Server
	env     *xdsforge.Env
	closing []func()
}

func newWorld(dir string) (*world, error) {
	plane, err := controlplane.Start(controlplane.Standard())
	if err != nil {
		return nil, err
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "peers"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, plane.Addr()))
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, plane: plane, closing: []func(){plane.Stop}}
	w.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(httpxds.Register), xdsforge.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	w.closing = append(w.closing, func() { _ = w.env.Close() })
	return w, nil
}

func (w *world) close() {
	for _, end := range slices.Backward(w.closing) {
		end()
	}
}

// A client sends requests to one endpoint.
type client struct {
	transport *httpxds.Transport
	dials     atomic.Int64
}

// client returns a client of an address. Its route has no retry policy: only requests that the endpoint refused are sent
// again.
func (w *world) client(addr string, p httpxds.Protocol) (*client, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(
		w.plane.SetText("svc", new(listenerv3.Listener), `name: "svc" api_listener { api_listener { %s { %s
			route_config { virtual_hosts { name: "h" domains: "*" routes { match { prefix: "/" } route { cluster: "c" } } } } } } }`, managerAny, routerEnd),
		w.plane.SetText("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } }`),
		w.plane.SetText("c", new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } }`, host, port)); err != nil {
		return nil, err
	}
	c := new(client)
	base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	c.transport, err = httpxds.NewTransport("xds:///svc", httpxds.WithEnv(w.env), httpxds.WithProtocol(p), httpxds.WithBase(base))
	return c, err
}

// load sends requests, some at a time. It returns an error unless all have the status 200.
func (c *client) load(ctx context.Context, requests, parallel int) error {
	var next atomic.Int64
	errs := make([]error, parallel)
	var wg sync.WaitGroup
	for i := range parallel {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(requests) && errs[i] == nil; n = next.Add(1) {
				errs[i] = c.send(ctx, n%2 == 0)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// send sends a request, and reads the response.
func (c *client) send(ctx context.Context, post bool) error {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if post {
		method, body = http.MethodPost, strings.NewReader("hello")
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://svc/", body)
	if err != nil {
		return err
	}
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// A site is a server that listens on one address.
type site struct {
	*world
	addr string
}

// site starts a server. Its handler responds with the path and the body.
func (w *world) site(ctx context.Context) (*site, error) {
	modes := make(chan error, 100)
	server, err := httpxds.NewServer(http.HandlerFunc(echo), httpxds.WithEnv(w.env), httpxds.WithHTTPServer(&http.Server{ErrorLog: silent}), //nolint:gosec // a template
		httpxds.OnMode(func(_ net.Addr, err error) { modes <- err }))
	if err != nil {
		return nil, err
	}
	w.closing = append(w.closing, func() { _ = server.Close() }) //nolint:contextcheck // it ends all parts
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{w, lis.Addr().String()}
	go func() { _ = server.Serve(lis) }() //nolint:contextcheck // it ends with close
	if err := s.listen("first"); err != nil {
		return nil, err
	}
	select {
	case err := <-modes:
		return s, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listen publishes a Listener that denies /admin.
func (s *site) listen(version string) error {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	name := "server/" + s.addr
	return s.plane.SetText(name, new(listenerv3.Listener), `name: %q address { socket_address { address: "127.0.0.1" port_value: %s } }
		filter_chains { name: %q filters { name: "hcm" typed_config { %s {
			http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { rules { action: DENY
				policies { key: "p" value { principals { any: true } permissions { url_path { path { prefix: "/admin" } } } } } } } } } %s
			route_config { name: "r" virtual_hosts { name: "v" domains: "*"
				routes { match { prefix: "/old" } redirect { prefix_rewrite: "/new" } } routes { match { prefix: "/" } non_forwarding_action {} } } } } } } }`,
		name, port, version, managerAny, routerEnd)
}

// newest returns the name of the filter chain in the newest generation.
func (s *site) newest() string {
	for _, g := range s.env.Servers()[0].Ports[0].Generations {
		for _, f := range g.FilterChains {
			return f.Name
		}
	}
	return ""
}

// until waits until a condition holds.
func until(ctx context.Context, holds func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = fmt.Fprintf(w, "%s %s", r.URL.Path, body) //nolint:gosec // no browser reads it
}
