package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/acme/ratelimit"
	"example.com/acme/ratelimitpb"

	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/publish"
)

func policy(i int, perSecond uint32) *ratelimitpb.Policy {
	return &ratelimitpb.Policy{
		Name:   policyName(i),
		Limit:  &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(perSecond)},
		Excess: &ratelimitpb.Policy_OverflowCluster{OverflowCluster: fmt.Sprintf("a-cluster-for-the-overflow-of-service-%03d", i)},
	}
}

// publish publishes all policies and the resources of the channel in one transaction.
func (s *stage) publish(ctx context.Context) error {
	s.Chapter("A type of one's own is published, together with the resources of a gRPC channel")
	addr, err := s.backend(ctx)
	if err != nil {
		return err
	}
	l, c, e := new(listenerv3.Listener), new(clusterv3.Cluster), new(endpointv3.ClusterLoadAssignment)
	err = errors.Join(
		prototext.Unmarshal([]byte(`name: "shop" api_listener { api_listener {
			[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
				route_config { virtual_hosts { domains: "*" routes { match { prefix: "/" } route { cluster: "shop" } } } }
				http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`), l),
		prototext.Unmarshal([]byte(`name: "shop" type: EDS eds_cluster_config { eds_config { ads {} } }`), c),
		prototext.Unmarshal(fmt.Appendf(nil, `cluster_name: "shop" endpoints { locality { zone: "z" } load_balancing_weight { value: 1 }
			lb_endpoints { endpoint { address { socket_address { address: %q port_value: %d } } } } }`, addr.IP.String(), addr.Port), e),
	)
	tx := new(publish.Tx)
	err = errors.Join(err, publish.AddTo(tx, listener.Type(), l), publish.AddTo(tx, cluster.Type(), c), publish.AddTo(tx, endpoint.Type(), e))
	for i := range policies {
		err = errors.Join(err, ratelimit.AddTo(tx, policy(i, 100)))
	}
	if err != nil {
		return err
	}
	revision, err := s.store.Commit(ctx, tx)
	if err != nil {
		return err
	}
	s.Seen("%d policies, a listener, a cluster and its endpoints are revision %d of the store", policies, revision)
	for _, d := range s.daemons[:2] {
		if err := d.AwaitRevision(ctx, int64(revision)); err != nil { //nolint:gosec // a revision of etcd
			return err
		}
	}
	s.Seen("both daemons have read it")
	return nil
}

// all returns the policies with one limit.
func all(perSecond uint32) map[string]uint32 {
	want := make(map[string]uint32, policies)
	for i := range policies {
		want[policyName(i)] = perSecond
	}
	return want
}

// subscribe starts the clients.
func (s *stage) subscribe(ctx context.Context) error {
	s.Chapter("Typed clients watch all policies, one of them through the relay; a channel makes calls")
	direct, err := s.watch(ctx, "direct", s.balancer.Addr())
	if err != nil {
		return err
	}
	if err := direct.until(ctx, all(100)); err != nil {
		return err
	}
	s.full = s.balancer.Sent()
	relayed, err := s.watch(ctx, "relayed", s.daemons[2].Addr)
	if err != nil {
		return err
	}
	if err := relayed.until(ctx, all(100)); err != nil {
		return err
	}
	s.clients = []*client{direct, relayed}
	s.Seen("both clients have %d policies; the first one took %d bytes", policies, s.full)
	if s.calls, err = s.call(ctx, s.balancer.Addr()); err == nil {
		s.Seen("a channel for xds:///shop makes calls")
	}
	return err
}

// reject publishes an invalid policy.
func (s *stage) reject(ctx context.Context) error {
	s.Chapter("An invalid policy never leaves its author")
	_, err := ratelimit.Put(ctx, s.store, policy(0, 0))
	if _, ok := errors.AsType[*publish.Rejected](err); !ok {
		return fmt.Errorf("the invalid policy is accepted: %w", err)
	}
	s.Quote("the author gets", err)
	return nil
}

// killServe kills the daemon that serves all clients.
func (s *stage) killServe(ctx context.Context) error {
	s.Chapter("The daemon that all clients use is killed, and one policy changes")
	before := s.balancer.Sent()
	if err := s.daemons[0].Kill(); err != nil {
		return err
	}
	start := time.Now()
	if _, err := ratelimit.Put(ctx, s.store, policy(7, 200)); err != nil {
		return err
	}
	for _, c := range s.clients {
		if err := c.until(ctx, map[string]uint32{policyName(7): 200}); err != nil {
			return err
		}
		s.Seen("client %s has the change after %v", c.name, time.Since(start).Round(time.Millisecond))
	}
	sent := s.balancer.Sent() - before
	s.Seen("the second daemon has sent %d bytes to three clients, which is %.1f %% of the first start of one", sent, 100*float64(sent)/float64(s.full))
	if sent > s.full/4 {
		return fmt.Errorf("%d bytes were sent after the move; must be less than a quarter of %d: only the difference", sent, s.full)
	}
	return nil
}

// killLeader kills the leader of etcd while policies change.
func (s *stage) killLeader(ctx context.Context) error {
	s.Chapter("The leader of the store is killed while policies change")
	leader, err := s.nodes.Leader(ctx)
	if err != nil {
		return err
	}
	var longest time.Duration
	for i := range 40 {
		if i == 10 {
			if err := s.nodes.Kill(leader); err != nil {
				return err
			}
		}
		start := time.Now()
		if _, err := ratelimit.Put(ctx, s.store, policy(i, 300)); err != nil {
			return err
		}
		longest = max(longest, time.Since(start))
	}
	s.Seen("40 commits are acknowledged; the slowest took %v", longest.Round(time.Millisecond))
	return nil
}

// verify compares the acknowledged policies with those of the clients.
func (s *stage) verify(ctx context.Context) error {
	s.Chapter("Was anything lost?")
	want := all(100)
	for i := range 40 {
		want[policyName(i)] = 300
	}
	for _, c := range s.clients {
		if err := errors.Join(c.until(ctx, want), c.lost()); err != nil {
			return err
		}
		s.Seen("client %s has all %d policies as they were acknowledged, and had no error", c.name, policies)
	}
	calls, err := s.calls.result()
	if err != nil {
		return err
	}
	s.Seen("%d calls, and none has failed", calls)
	status, err := s.daemons[1].Status(ctx)
	if err != nil {
		return err
	}
	names := 0
	for _, c := range status.Clients {
		if c.Node == "relay" {
			names++
		}
	}
	if names != 1 {
		return fmt.Errorf("the relay has %d streams to the daemon; must be one", names)
	}
	s.Seen("the relay has one stream to the daemon")
	return nil
}
