package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

const (
	servers      = "#server" // the client of all gRPC servers of an environment
	clusterType  = "envoy.config.cluster.v3.Cluster"
	listenerType = "envoy.config.listener.v3.Listener"
)

// once counts each line once.
func once(map[string]slog.Value) int { return 1 }

// with counts each line whose attributes have the values.
func with(values map[string]string) func(map[string]slog.Value) int {
	return func(attrs map[string]slog.Value) int {
		for key, want := range values {
			if attrs[key].String() != want {
				return 0
			}
		}
		return 1
	}
}

// number returns a function that reads the number in an attribute.
func number(key string) func(map[string]slog.Value) int {
	return func(attrs map[string]slog.Value) int { return int(attrs[key].Int64()) }
}

// has matches resources of CSDS in a state.
func has(state adminv3.ClientResourceStatus) func(*statusv3.ClientConfig_GenericXdsConfig) bool {
	return func(x *statusv3.ClientConfig_GenericXdsConfig) bool { return x.GetClientStatus() == state }
}

// from matches the clusters of a control plane.
func from(plane string) func(*statusv3.ClientConfig_GenericXdsConfig) bool {
	return func(x *statusv3.ClientConfig_GenericXdsConfig) bool {
		c := new(clusterv3.Cluster)
		return x.GetXdsConfig().UnmarshalTo(c) == nil && c.GetAltStatName() == plane
	}
}

// call makes a call through a channel.
func call(ctx context.Context, cc *grpc.ClientConn) error {
	_, err := testpb.NewTestServiceClient(cc).EmptyCall(ctx, new(testpb.Empty), grpc.WaitForReady(true))
	return err
}

func (s *stage) inUse(ctx context.Context) error {
	s.Chapter("The channel and the server have their resources")
	if err := call(ctx, s.channels[0]); err != nil {
		return err
	}
	return s.agree(ctx, nil,
		row{"resources in use", 4, []source{
			resources("", "", has(adminv3.ClientResourceStatus_ACKED)), metric("grpc.xds_client.resources", "cache_state=acked"),
			lines("resources accepted", number("resources")),
		}},
		row{"servers that serve", 1, []source{
			resources(servers, listenerType, has(adminv3.ClientResourceStatus_ACKED)),
			metric("grpc.xds_client.resources", "cache_state=acked", "grpc.target="+servers), lines("xDS server is serving", once),
		}})
}

func (s *stage) failedEndpoint(ctx context.Context) error {
	s.Chapter("An endpoint fails its calls")
	s.broken.broken.Store(true)
	defer s.broken.broken.Store(false)
	traffic := func() {
		for range 20 {
			_ = call(ctx, s.channels[0]) // half of them fail
		}
	}
	return s.agree(ctx, traffic, row{"endpoints ejected", 1, []source{
		ejected(), metric("grpc.lb.outlier_detection.ejections_enforced", "grpc.target="+checkout), lines("outlier detection", number("ejected")),
	}})
}

func (s *stage) badResources(ctx context.Context) error {
	s.Chapter("The control plane sends an invalid Cluster and an invalid Listener")
	name := "server/" + s.healthy.addr.String()
	if err := errors.Join(
		s.primary.SetText("checkout", new(clusterv3.Cluster), `name: "checkout" type: EDS`),
		s.primary.SetText(name, new(listenerv3.Listener), `name: %q address { socket_address { address: "127.0.0.1" port_value: %d } }
			filter_chains {}`, name, s.healthy.addr.Port()),
	); err != nil {
		return err
	}
	rejected := func(title, target, typ string) row {
		return row{title, 1, []source{
			resources(target, typ, has(adminv3.ClientResourceStatus_NACKED)),
			metric("grpc.xds_client.resources", "cache_state=nacked_but_cached", "grpc.target="+target, typ),
			lines("response rejected", with(map[string]string{"target": target, "type": typ})),
		}}
	}
	if err := s.agree(ctx, nil, rejected("Clusters of the channel rejected", checkout, clusterType), rejected("Listeners of the server rejected", servers, listenerType)); err != nil {
		return err
	}
	if err := call(ctx, s.channels[0]); err != nil {
		return fmt.Errorf("calling with the resources from before: %w", err)
	}
	s.Seen("calls succeed: the client keeps the valid resources from before")
	return nil
}

func (s *stage) fellBack(ctx context.Context) error {
	s.Chapter("The first control plane stops, and a new channel falls back to the second one")
	s.primary.Stop()
	cc, err := s.dial(late)
	if err != nil {
		return err
	}
	if err := call(ctx, cc); err != nil {
		return err
	}
	return s.agree(ctx, nil,
		row{"clients that lost the first control plane", 3, []source{
			failures(), metric("grpc.xds_client.server_failure", "grpc.xds.server="+s.primary.Addr()), clients("control plane unreachable"),
		}},
		row{"clients that use the second one", 1, []source{
			resources(late, clusterType, from("fallback")), metric("xdsforge.xds_client.fallback"), lines("fell back to another control plane", once),
		}})
}

func (s *stage) recovered(ctx context.Context) error {
	s.Chapter("The first control plane returns, with valid resources")
	if err := s.publish(s.primary, "corrected"); err != nil {
		return err
	}
	if err := s.primary.Restart(); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	return s.agree(ctx, nil,
		row{"clients connected to the first control plane", 3, []source{
			connected(s.primary.Addr()), metric("grpc.xds_client.connected", "grpc.xds.server="+s.primary.Addr()), clients("control plane reachable again"),
		}},
		row{"channels that returned from the second one", 1, []source{
			resources(late, clusterType, from("corrected")), series("xdsforge.xds_client.fallback", "0", "grpc.target="+late),
			lines("returned to a better control plane", once),
		}},
		row{"rejected resources", 0, []source{
			resources("", "", has(adminv3.ClientResourceStatus_NACKED)), metric("grpc.xds_client.resources", "cache_state=nacked"), unresolved(),
		}})
}
