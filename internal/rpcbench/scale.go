package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/process"
)

// The target "large" has that many clusters with that many endpoints each.
const clusters, endpoints = 1000, 100

// scale prints the time from creating a channel for a large target to the end of its first
// call, and the memory afterwards. Each measurement runs in a new process.
func scale(ctx context.Context, times int) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	for i := range 2 * times {
		name := []string{theirsName, oursName}[i%2]
		if err := process.Run(ctx, nil, "-first", name, "-backend", s.Backend, "-plane", s.Plane); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// first creates one channel, makes one call, and prints the cost.
func first(ctx context.Context, name string, at Addresses) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	start := time.Now()
	subjects, err := dial(at, "xds:///large")
	if err != nil {
		return err
	}
	for _, one := range subjects {
		if one.name != name {
			continue
		}
		if _, err := testpb.NewTestServiceClient(one.cc).EmptyCall(ctx, &testpb.Empty{}); err != nil {
			return err
		}
		took, used := time.Since(start), process.CPU()
		m := process.Memory()
		fmt.Printf("%-14s %d clusters of %d endpoints: first call after %v, %v of CPU; %.1f MB live, %.1f MB allocated\n", name, clusters, endpoints,
			took.Round(time.Millisecond), used.Round(time.Millisecond), float64(m.HeapAlloc)/1e6, float64(m.TotalAlloc)/1e6)
		return nil
	}
	return fmt.Errorf("there is no channel %q", name)
}

// enlarge adds the target "large". Its clusters connect when they are called, all addresses
// lead to the port.
func enlarge(plane *controlplane.Server, port int) error {
	all, assignments := make(map[string]proto.Message), make(map[string]proto.Message)
	var routes strings.Builder
	address := 0
	for i := range clusters {
		name := fmt.Sprintf("large-%d", i)
		fmt.Fprintf(&routes, `routes { match { prefix: "/other.Service%d/" } route { cluster: %q } } `, i, name)
		c, e := new(clusterv3.Cluster), new(endpointv3.ClusterLoadAssignment)
		var list strings.Builder
		for range endpoints {
			address++
			fmt.Fprintf(&list, `lb_endpoints { endpoint { address { socket_address { address: "127.%d.%d.%d" port_value: %d } } } } `,
				1+address>>16, address>>8&255, address&255, port)
		}
		if err := errors.Join(
			controlplane.Parse(c, `name: %q type: EDS lb_policy: RING_HASH eds_cluster_config { eds_config { ads {} } }`, name),
			controlplane.Parse(e, `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 } %s }`, name, list.String()),
		); err != nil {
			return err
		}
		all[name], assignments[name] = c, e
	}
	return errors.Join(plane.Update(all), plane.Update(assignments), plane.SetText("large", new(listenerv3.Listener), `name: "large" api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
			route_config { virtual_hosts { domains: "*" %s routes { match { prefix: "" } route { cluster: "large-0" } } } } } } }`, routes.String()))
}
