package scene

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

const (
	manager = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]`
	router  = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }`
	fault   = `http_filters { name: "fault" typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] {
		abort { grpc_status: 14 percentage { numerator: 0 } } } } }`
)

// Script is text that must never become part of a page's structure.
const Script = `"><script>document.title='owned'</script><img src=x onerror=alert(1)>`

// play are the states that a scene can be brought into.
func play() map[string]func(*Scene, context.Context) error {
	return map[string]func(*Scene, context.Context) error{
		"recover": func(s *Scene, _ context.Context) error { return s.publish() },
		"reject":  (*Scene).reject,
		"reject again": func(s *Scene, _ context.Context) error {
			return s.set(new(clusterv3.Cluster), `name: "checkout" type: EDS lb_policy: CLUSTER_PROVIDED eds_cluster_config { eds_config { ads {} } }`)
		},
		"break":    (*Scene).breakPayments,
		"endpoint": (*Scene).failEndpoint,
		"server": func(s *Scene, ctx context.Context) error {
			return errors.Join(s.setServer(false), s.awaitMode(ctx, false))
		},
		"hostile": (*Scene).hostile,
	}
}

func steps() []string { return slices.Sorted(maps.Keys(play())) }

// Play brings the scene into a state: "recover", "reject", "reject again", "break", "endpoint", "server" or "hostile".
func (s *Scene) Play(ctx context.Context, step string) error {
	f, ok := play()[step]
	if !ok {
		return fmt.Errorf("step = %q; must be one of %s", step, strings.Join(steps(), ", "))
	}
	return f(s, ctx)
}

// publish sets the healthy resources.
func (s *Scene) publish() error {
	return errors.Join(
		s.set(new(listenerv3.Listener), `name: "checkout.example" api_listener { api_listener { `+manager+` {
			rds { config_source { ads {} } route_config_name: "checkout-routes" } common_http_protocol_options { max_stream_duration { seconds: 30 } } `+fault+router+` } } }`),
		s.set(new(listenerv3.Listener), `name: "payments.example" api_listener { api_listener { `+manager+` {
			rds { config_source { ads {} } route_config_name: "payments-routes" } `+router+` } } }`),
		s.set(new(routev3.RouteConfiguration), `name: "checkout-routes"
			virtual_hosts { name: "internal" domains: "*.internal.example" routes { match { prefix: "" } route { cluster: "checkout" } } }
			virtual_hosts { name: "checkout" domains: "checkout.example" domains: "*.checkout.example"
				retry_policy { retry_on: "unavailable" num_retries { value: 2 } }
				routes { name: "canary" match { prefix: "" headers { name: "x-version" string_match { exact: "canary" } } } route { cluster: "checkout-canary" }
					typed_per_filter_config { key: "fault" value { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] {
						delay { fixed_delay { nanos: 5000000 } percentage { numerator: 10 } } } } } }
				routes { name: "export" match { path: "/shop.Checkout/Export" } route { cluster: "checkout" max_stream_duration { max_stream_duration { seconds: 600 } } } }
				routes { name: "all" match { prefix: "" } route { weighted_clusters {
					clusters { name: "checkout" weight { value: 90 } } clusters { name: "checkout-canary" weight { value: 10 } } } } } }`),
		s.set(new(routev3.RouteConfiguration), `name: "payments-routes" virtual_hosts { name: "payments" domains: "*" routes { match { prefix: "" } route { cluster: "payments" } } }`),
		s.cluster("checkout", "ROUND_ROBIN", 1024), s.cluster("checkout-canary", "ROUND_ROBIN", 64), s.cluster("payments", "LEAST_REQUEST", 256),
		s.endpoints("checkout", s.backends[0], s.backends[1]), s.endpoints("checkout-canary", s.backends[2]), s.endpoints("payments", s.backends[3]),
		s.setServerIfAny(),
	)
}

func (s *Scene) cluster(name, policy string, limit int) error {
	return s.set(new(clusterv3.Cluster), `name: %q type: EDS lb_policy: %s eds_cluster_config { eds_config { ads {} } }
		circuit_breakers { thresholds { max_requests { value: %d } } } outlier_detection { interval { seconds: 10 } base_ejection_time { seconds: 30 } max_ejection_percent { value: 20 } }`, name, policy, limit)
}

func (s *Scene) endpoints(name string, ports ...int) error {
	var text strings.Builder
	for _, p := range ports {
		fmt.Fprintf(&text, `lb_endpoints { health_status: HEALTHY endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } `, p)
	}
	return s.set(new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "eu" zone: "eu-1" } load_balancing_weight { value: 1 } %s }`, name, text.String())
}

// reject publishes a cluster that breaks two rules.
func (s *Scene) reject(context.Context) error {
	return s.set(new(clusterv3.Cluster), `name: "checkout" type: EDS lb_policy: MAGLEV eds_cluster_config { eds_config { ads {} } }
		circuit_breakers { thresholds { max_requests { value: 2048 } } }
		outlier_detection { interval { seconds: -10 } base_ejection_time { seconds: 30 } max_ejection_percent { value: 20 } }`)
}

// breakPayments moves the only route to a cluster that never was valid.
func (s *Scene) breakPayments(context.Context) error {
	return errors.Join(
		s.set(new(clusterv3.Cluster), `name: "payments-v2" type: STATIC`),
		s.set(new(routev3.RouteConfiguration), `name: "payments-routes" virtual_hosts { name: "payments" domains: "*" routes { match { prefix: "" } route { cluster: "payments-v2" } } }`))
}

// failEndpoint adds an endpoint that refuses connections.
func (s *Scene) failEndpoint(ctx context.Context) error {
	lis, err := listen(ctx)
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(lis.Addr().String(), ":")
	if err := lis.Close(); err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(port, &n); err != nil {
		return err
	}
	if err := s.endpoints("checkout", s.backends[0], s.backends[1], n); err != nil {
		return err
	}
	return s.call(ctx, "xds:///checkout.example")
}

// setServer publishes the Listener of the gRPC server, valid or not.
func (s *Scene) setServer(ok bool) error {
	host, port, _ := strings.Cut(s.address, ":")
	if !ok { // for another port
		return s.set(new(listenerv3.Listener), `name: "server/%s" address { socket_address { address: %q port_value: 1 } }
			filter_chains { name: "any" filters { name: "http" typed_config { `+manager+` { route_config { name: "local" } `+router+` } } } }`, s.address, host)
	}
	return s.set(new(listenerv3.Listener), `name: "server/%s" address { socket_address { address: %q port_value: %s } }
		filter_chains { name: "any" filters { name: "http" typed_config { `+manager+` { route_config { name: "local" virtual_hosts { name: "any" domains: "*" routes { match { prefix: "/" } non_forwarding_action {} } } } `+router+` } } } }`,
		s.address, host, port)
}

func (s *Scene) setServerIfAny() error {
	if s.server == nil {
		return nil
	}
	return s.setServer(true)
}

// hostile publishes names, versions and errors with scripts.
func (s *Scene) hostile(ctx context.Context) error {
	c, err := s.Env.NewNamedClient(Script)
	if err != nil {
		return err
	}
	s.onClose(c.Close)
	got := make(chan struct{}, 1)
	stop, err := endpoint.Type().Subscribe(c, Script, func(resource.Event[*endpoint.Update]) {
		select {
		case got <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	s.onClose(func() error { stop(); return nil })
	if err := s.set(new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: %q } priority: 7 load_balancing_weight { value: 1 } }`, Script, Script); err != nil {
		return err
	}
	select {
	case <-got:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
