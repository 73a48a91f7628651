package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/netproxy"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// The authorities, and the servers that they use, in order. The empty one is that of
// old-style names.
var authorities = []struct {
	name    string
	servers []int
}{
	{"", []int{0}},
	{"east.example", []int{0, 1}},
	{"west.example", []int{1}},
	{"south.example", []int{2}},
}

// The features of each server.
var features = [][]any{nil, {feature.TransportDelta}, {feature.TransportAuto}}

// A world is the control planes, the proxies before them, and the client.
type world struct {
	servers []*controlplane.Server
	proxies []*netproxy.Proxy
	refused int // the server that refuses connections; negative: none
	client  *client.Client
	items   []*item
	rng     *rand.Rand

	began              time.Time
	changes, disturbed int
}

func newWorld(resources int) (*world, error) {
	w := &world{rng: rand.New(rand.NewPCG(1, 1)), refused: -1, began: time.Now()}
	if err := w.start(); err != nil {
		_ = w.close() // the error that led here says more
		return nil, err
	}
	if err := w.fill(resources); err != nil {
		_ = w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) start() error {
	var spec bootstrap.Spec
	spec.Node = &corev3.Node{Id: "soak"}
	spec.Authorities = make(map[string]bootstrap.AuthoritySpec)
	entries := make([]bootstrap.ServerSpec, len(features))
	for i, f := range features {
		s, err := controlplane.Start([]string{clusterType, endpointType})
		if err != nil {
			return err
		}
		s.ForgetRequests()
		w.servers = append(w.servers, s)
		p, err := netproxy.Start(s.Addr())
		if err != nil {
			return err
		}
		w.proxies = append(w.proxies, p)
		entries[i] = bootstrap.ServerSpec{URI: p.Addr(), ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}, Features: f}
	}
	for _, a := range authorities {
		var own []bootstrap.ServerSpec
		for _, i := range a.servers {
			own = append(own, entries[i])
		}
		if a.name == "" {
			spec.Servers = own
			continue
		}
		spec.Authorities[a.name] = bootstrap.AuthoritySpec{Servers: own}
	}
	config, err := bootstrap.New(spec)
	if err != nil {
		return err
	}
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		return err
	}
	var opts client.Options
	opts.Backoff.Base, opts.Backoff.Max, opts.Backoff.Jitter = 100*time.Millisecond, time.Second, 0.2
	w.client, err = client.New(config, types, opts)
	return err
}

const (
	clusterType  = "envoy.config.cluster.v3.Cluster"
	endpointType = "envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// fill makes the resources, half of them clusters and half assignments, in all
// authorities alike, and watches them.
func (w *world) fill(resources int) error {
	for i := range resources {
		typ := []string{clusterType, endpointType}[i%2]
		a := authorities[i/2%len(authorities)]
		name := fmt.Sprintf("name-%06d", i)
		if a.name != "" {
			name = "xdstp://" + a.name + "/" + typ + "/" + name
		}
		w.items = append(w.items, &item{typ: typ, name: name, servers: a.servers})
	}
	if err := w.publish(w.items); err != nil {
		return err
	}
	for _, it := range w.items {
		t, err := resource.Find(w.client, it.typ)
		if err != nil {
			return err
		}
		if _, err := t.Subscribe(w.client, it.name, it.notify); err != nil {
			return err
		}
	}
	return nil
}

// publish has the control planes hold the newest version of some resources.
func (w *world) publish(items []*item) error {
	byServer := make([]map[string]proto.Message, len(w.servers))
	for i := range byServer {
		byServer[i] = make(map[string]proto.Message)
	}
	for _, it := range items {
		for _, s := range it.servers {
			byServer[s][it.name] = it.message()
		}
	}
	for i, all := range byServer {
		if len(all) == 0 {
			continue
		}
		if err := w.servers[i].Update(all); err != nil {
			return err
		}
	}
	return nil
}

// change gives some resources a new version.
func (w *world) change(n int) error {
	changed := make([]*item, 0, n)
	seen := make(map[int]bool)
	for len(changed) < n {
		i := w.rng.IntN(len(w.items))
		if seen[i] {
			continue
		}
		seen[i] = true
		w.items[i].version++
		changed = append(changed, w.items[i])
	}
	w.changes += n
	return w.publish(changed)
}

// disturb breaks the connections to a server. One of four times, it cannot be reached
// until the next disturbance.
func (w *world) disturb() {
	w.heal()
	w.disturbed++
	i := w.rng.IntN(len(w.proxies))
	if w.rng.IntN(4) == 0 {
		w.proxies[i].Refuse()
		w.refused = i
	}
	w.proxies[i].Disconnect()
}

func (w *world) heal() {
	if w.refused >= 0 {
		w.proxies[w.refused].Accept()
		w.refused = -1
	}
}

func (w *world) close() error {
	var err error
	if w.client != nil {
		err = w.client.Close()
	}
	for _, p := range w.proxies {
		p.Close()
	}
	for _, s := range w.servers {
		s.Stop()
	}
	return err
}

// message is the newest version of a resource. The version is in it.
func (it *item) message() proto.Message {
	if it.typ == clusterType {
		return &clusterv3.Cluster{
			Name:                 it.name,
			AltStatName:          strconv.Itoa(it.version),
			ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
				ServiceName: "service",
				EdsConfig: &corev3.ConfigSource{
					ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
				},
			},
		}
	}
	return &endpointv3.ClusterLoadAssignment{
		ClusterName: it.name,
		Endpoints: []*endpointv3.LocalityLbEndpoints{{
			Locality: &corev3.Locality{Zone: strconv.Itoa(it.version)},
		}},
	}
}
