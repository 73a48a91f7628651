package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"

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

// hcm is the connection manager of all Listeners, without its routes.
const hcm = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
	http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
	route_config { name: "r" virtual_hosts { name: "v" domains: "*" routes { match { prefix: "/" } %s } } } }`

// A world is a control plane with an Env.
type world struct {
	plane   *controlplane.Server
	env     *xdsforge.Env
	closing []func()
	targets int
}

func newWorld() (*world, error) {
	plane, err := controlplane.Start(controlplane.Standard())
	if err != nil {
		return nil, err
	}
	w := &world{plane: plane, closing: []func(){plane.Stop}}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "peers"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, plane.Addr()))
	if err == nil {
		w.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(httpxds.Register), xdsforge.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		plane.Stop()
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

// transport returns a Transport whose requests all go to an address. Its target has a retry policy, so that bodies of streams are
// kept for retries.
func (w *world) transport(addr string, p httpxds.Protocol) (*httpxds.Transport, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	w.targets++
	name := fmt.Sprintf("svc%d", w.targets)
	route := fmt.Sprintf(`route { cluster: %q retry_policy { retry_on: "unavailable" } }`, name)
	if err := errors.Join(
		w.plane.SetText(name, new(listenerv3.Listener), `name: %q api_listener { api_listener { %s } }`, name, fmt.Sprintf(hcm, route)),
		w.plane.SetText(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } }`, name),
		w.plane.SetText(name, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: %q port_value: %s } } } } }`, name, host, port)); err != nil {
		return nil, err
	}
	return httpxds.NewTransport("xds:///"+name, httpxds.WithEnv(w.env), httpxds.WithProtocol(p))
}

// site starts a server with the service. It returns its address when it serves.
func (w *world) site(ctx context.Context) (string, error) {
	modes := make(chan error, 100)
	s, err := httpxds.NewServer(handler(), httpxds.WithEnv(w.env), httpxds.OnMode(func(_ net.Addr, err error) { modes <- err }))
	if err != nil {
		return "", err
	}
	w.closing = append(w.closing, func() { _ = s.Close() }) //nolint:contextcheck // it ends all parts
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	addr := lis.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", errors.Join(err, lis.Close())
	}
	go func() { _ = s.Serve(lis) }() //nolint:contextcheck // it ends with close
	if err := w.plane.SetText("server/"+addr, new(listenerv3.Listener), `name: %q address { socket_address { address: "127.0.0.1" port_value: %s } }
		filter_chains { name: "f" filters { name: "hcm" typed_config { %s } } }`, "server/"+addr, port, fmt.Sprintf(hcm, "non_forwarding_action {}")); err != nil {
		return "", err
	}
	select {
	case err := <-modes:
		return addr, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
