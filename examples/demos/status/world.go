package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// checkout and late are the targets of the channels.
const (
	checkout = "xds:///checkout"
	late     = "xds:///late"
)

// A backend is an endpoint. It fails all calls while broken is set.
type backend struct {
	testpb.UnimplementedTestServiceServer
	addr   netip.AddrPort
	broken atomic.Bool
	server *grpc.Server // nil: the xDS server has the address
}

// EmptyCall implements the service.
func (b *backend) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	if b.broken.Load() {
		return nil, status.Error(codes.Unavailable, "broken")
	}
	return new(testpb.Empty), nil
}

// listen returns a listener on loopback.
func listen(ctx context.Context) (net.Listener, netip.AddrPort, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	return l, l.Addr().(*net.TCPAddr).AddrPort(), nil
}

// build starts the control planes and the endpoint that is no xDS server.
func (s *stage) build(ctx context.Context) (err error) {
	if s.primary, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	if s.fallback, err = story.NewControlPlane(); err != nil { //nolint:contextcheck // likewise
		return err
	}
	lis, addr, err := listen(ctx)
	if err != nil {
		return err
	}
	s.broken = &backend{addr: addr, server: grpc.NewServer()}
	testpb.RegisterTestServiceServer(s.broken.server, s.broken)
	go func() { _ = s.broken.server.Serve(lis) }() // it ends with close
	return nil
}

// open creates the server and the channel as a program does: with one environment that has a logger and a meter
// provider, and with the admin services.
func (s *stage) open(ctx context.Context) error {
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"node": {"id": "shop-1"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}, {"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`,
		s.primary.Addr(), s.fallback.Addr()))
	if err != nil {
		return err
	}
	if s.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register),
		xdsforge.WithLogger(slog.New(&s.log)), xdsforge.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.metrics)))); err != nil {
		return err
	}
	if s.admin, err = newAdmin(ctx, s.env); err != nil {
		return err
	}
	if s.server, err = (grpcxds.ServerConfig{Env: s.env}).NewServer(grpcxds.Creds(insecure.NewCredentials())); err != nil {
		return err
	}
	lis, addr, err := listen(ctx)
	if err != nil {
		return err
	}
	s.healthy = &backend{addr: addr}
	testpb.RegisterTestServiceServer(s.server, s.healthy)
	if err := errors.Join(s.publish(s.primary, "primary"), s.publish(s.fallback, "fallback")); err != nil {
		return err
	}
	go func() { _ = s.server.Serve(lis) }() //nolint:contextcheck // it ends with close
	_, err = s.dial(checkout)
	return err
}

// dial creates a channel.
func (s *stage) dial(target string) (*grpc.ClientConn, error) {
	cc, err := grpcxds.Dialer{Env: s.env}.NewClient(target, grpcxds.WithCredentials(insecure.NewCredentials()))
	if err == nil {
		s.channels = append(s.channels, cc)
	}
	return cc, err
}

// close stops everything that build and open started.
func (s *stage) close() (err error) {
	for _, cc := range s.channels {
		err = errors.Join(err, cc.Close())
	}
	if s.server != nil {
		s.server.Stop()
	}
	if s.admin != nil {
		err = errors.Join(err, s.admin.close())
	}
	if s.env != nil {
		err = errors.Join(err, s.env.Close())
	}
	if s.broken != nil {
		s.broken.server.Stop()
	}
	for _, plane := range []*story.ControlPlane{s.primary, s.fallback} {
		if plane != nil {
			plane.Stop()
		}
	}
	return err
}

const (
	manager   = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]`
	router    = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }`
	detection = `outlier_detection { interval { nanos: 200000000 } base_ejection_time { seconds: 300 } max_ejection_percent { value: 50 }
		failure_percentage_threshold { value: 50 } enforcing_failure_percentage { value: 100 }
		failure_percentage_minimum_hosts { value: 2 } failure_percentage_request_volume { value: 5 } }`
)

// publish publishes valid resources. The comment tells the clusters of the control planes apart.
func (s *stage) publish(to *story.ControlPlane, comment string) error {
	var errs []error
	for _, target := range []string{"checkout", "late"} {
		errs = append(errs, to.SetText(target, new(listenerv3.Listener), `name: %q api_listener { api_listener { `+manager+` {
			route_config { virtual_hosts { domains: "*" routes { match { prefix: "/" } route { cluster: %q } } } } `+router+` } } }`, target, target),
			to.SetText(target, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { load_balancing_weight { value: 1 } locality { region: "r" }
			lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } }
			lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } }`,
				target, s.healthy.addr.Port(), s.broken.addr.Port()),
			to.SetText(target, new(clusterv3.Cluster), `name: %q alt_stat_name: %q type: EDS eds_cluster_config { eds_config { ads {} } } `+detection, target, comment))
	}
	return errors.Join(append(errs, s.publishListener(to, "non_forwarding_action {}"))...)
}

// publishListener publishes the Listener of the server.
func (s *stage) publishListener(to *story.ControlPlane, action string) error {
	name := "server/" + s.healthy.addr.String()
	return to.SetText(name, new(listenerv3.Listener), `name: %q address { socket_address { address: "127.0.0.1" port_value: %d } }
		filter_chains { filters { name: "hcm" typed_config { `+manager+` {
			route_config { virtual_hosts { domains: "*" routes { match { prefix: "/" } %s } } } `+router+` } } } }`,
		name, s.healthy.addr.Port(), action)
}
