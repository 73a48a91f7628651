package client_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	clusterplugin "github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// publish makes the control plane serve a cluster.
func publish(s *controlplane.Server, maxRequests int) {
	m := new(clusterv3.Cluster)
	_ = protojson.Unmarshal(fmt.Appendf(nil, `{"name": "checkout", "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}},
		"circuit_breakers": {"thresholds": [{"max_requests": %d}]}}`, maxRequests), m)
	_ = s.Set("checkout", m)
}

func Example() {
	server, err := controlplane.Start([]string{"envoy.config.cluster.v3.Cluster"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	publish(server, 10)

	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, server.Addr()))
	if err != nil {
		fmt.Println(err)
		return
	}
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.New(config, types, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ev := range clusterplugin.Watch(ctx, c, "checkout") {
		if ev.Err != nil {
			fmt.Println(ev.Err)
			return
		}
		fmt.Println(ev.Update.Name(), "may have", ev.Update.MaxRequests, "calls in flight")
		if ev.Update.MaxRequests == 20 {
			break
		}
		publish(server, 20)
	}
	// Output:
	// checkout may have 10 calls in flight
	// checkout may have 20 calls in flight
}
