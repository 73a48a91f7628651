package main

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
	"github.com/xdsforge/xdsforge/internal/process"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
)

const endpointURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// A plane is a server process. Its methods are called by the parent.
type plane struct {
	addr     string
	streams  atomic.Int64
	publish  func(map[string]*endpointv3.ClusterLoadAssignment) error
	check    func(map[string]*endpointv3.ClusterLoadAssignment) error // publish, as programs do: with validation, if the server has it
	prepared map[string]*endpointv3.ClusterLoadAssignment
}

// servePlane is the process of a server.
func servePlane(ctx context.Context, which, upstream string) error {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := &plane{addr: lis.Addr().String()}
	var g *grpc.Server
	switch which {
	case "ours":
		g, err = p.ours(ctx)
	case "served":
		g, err = p.served(ctx)
	case "relay":
		g, err = p.relay(upstream) //nolint:contextcheck // a client ends with Close
	default:
		g = p.peer(ctx)
	}
	if err != nil {
		return err
	}
	go func() { _ = g.Serve(lis) }()
	defer g.Stop()
	return process.Serve(p)
}

func (p *plane) ours(ctx context.Context) (*grpc.Server, error) {
	m := source.NewMemory()
	core, err := adsserver.New(adsserver.Config{Source: m}) //nolint:contextcheck // a core ends with Close
	if err != nil {
		return nil, err
	}
	g := grpc.NewServer(adsgrpc.ServerOptions()...)
	adsgrpc.Register(g, core) //nolint:contextcheck // streams have contexts of their own
	set, err := endpoints()
	if err != nil {
		return nil, err
	}
	store := publish.NewChecked(m, set)
	p.check = func(changed map[string]*endpointv3.ClusterLoadAssignment) error {
		tx := new(source.Tx)
		for _, a := range changed {
			if err := endpoint.AddTo(tx, a); err != nil {
				return err
			}
		}
		_, err := store.Commit(ctx, tx)
		return err
	}
	p.publish = committer(ctx, m)
	return g, nil
}

// committer returns a function that commits assignments to a memory.
func committer(ctx context.Context, m *source.Memory) func(map[string]*endpointv3.ClusterLoadAssignment) error {
	return func(changed map[string]*endpointv3.ClusterLoadAssignment) error {
		tx := new(source.Tx)
		for name, a := range changed {
			body, err := proto.MarshalOptions{Deterministic: true}.Marshal(a)
			if err != nil {
				return err
			}
			tx.Put(source.Resource{Key: source.Key{Type: endpointURL, Name: name}, Body: body})
		}
		_, err := m.Commit(ctx, tx)
		return err
	}
}

func (p *plane) peer(ctx context.Context) *grpc.Server {
	linear := cachev3.NewLinearCache(endpointURL)
	mux := &cachev3.MuxCache{
		Classify:      func(*cachev3.Request) string { return "" },
		ClassifyDelta: func(*cachev3.DeltaRequest) string { return "" },
		Caches:        map[string]cachev3.Cache{"": linear},
	}
	g := grpc.NewServer(grpc.StreamInterceptor(p.countStreams))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, serverv3.NewServer(ctx, mux, nil))
	p.publish = func(changed map[string]*endpointv3.ClusterLoadAssignment) error {
		update := make(map[string]types.Resource, len(changed))
		for name, a := range changed {
			update[name] = a
		}
		return linear.UpdateResources(update, nil)
	}
	p.check = p.publish
	return g
}

// endpoints returns a set with the type of endpoints.
func endpoints() (*resource.Set, error) {
	r := registry.New()
	endpoint.Register(r)
	return r.Freeze()
}

// Address returns where the server listens.
func (p *plane) Address(_ struct{}, addr *string) error { //nolint:unparam // the form of package net/rpc
	*addr = p.addr
	return nil
}

// A Change sets the resources from First to First+Count-1 to a version.
type Change struct{ First, Count, Version int }

// Publish changes resources.
func (p *plane) Publish(c Change, _ *struct{}) error {
	changed := make(map[string]*endpointv3.ClusterLoadAssignment, c.Count)
	for i := c.First; i < c.First+c.Count; i++ {
		changed[nameOf(i)] = assignment(i, c.Version)
	}
	return p.publish(changed)
}

// Prepare creates resources, which Fill publishes.
func (p *plane) Prepare(c Change, _ *struct{}) error { //nolint:unparam // the form of package net/rpc
	p.prepared = make(map[string]*endpointv3.ClusterLoadAssignment, c.Count)
	for i := range c.Count {
		p.prepared[nameOf(i)] = assignment(i, c.Version)
	}
	return nil
}

// Fill publishes the prepared resources at once.
func (p *plane) Fill(_ struct{}, _ *struct{}) error { return p.check(p.prepared) }

// A Usage is the processor time and live heap of the process.
type Usage struct {
	CPU  time.Duration
	Heap uint64
}

// Usage measures the process after garbage collection.
func (p *plane) Usage(_ struct{}, u *Usage) error { //nolint:unparam // the form of package net/rpc
	runtime.GC()
	m := process.Memory()
	*u = Usage{process.CPU(), m.HeapAlloc}
	return nil
}

// CPU returns the processor time so far.
func (p *plane) CPU(_ struct{}, d *time.Duration) error { //nolint:unparam // the form of package net/rpc
	runtime.GC() // the garbage of the change is part of its cost
	*d = process.CPU()
	return nil
}

func nameOf(i int) string { return fmt.Sprintf("service-%06d", i) }

// assignment returns an assignment of ten endpoints.
func assignment(i, version int) *endpointv3.ClusterLoadAssignment {
	l := &endpointv3.LocalityLbEndpoints{
		Locality: &corev3.Locality{Region: "region", Zone: "zone"}, LoadBalancingWeight: wrapperspb.UInt32(1),
	}
	for e := range 10 {
		l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{
			HealthStatus: corev3.HealthStatus_HEALTHY,
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{
				Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address:       fmt.Sprintf("10.%d.%d.%d", i/65536, i/256%256, i%256),
					PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(1 + (version*10+e)%65535)}, //nolint:gosec // in the range of ports
				}},
			}}},
		})
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: nameOf(i), Endpoints: []*endpointv3.LocalityLbEndpoints{l}}
}
