package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	sotwv3 "github.com/envoyproxy/go-control-plane/pkg/client/sotw/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A goChannel is a channel of grpc-go with its own xDS.
type goChannel struct{ *grpc.ClientConn }

func openGo(_ context.Context, w *world, node string) (peer, error) {
	resolver, err := xds.NewXDSResolverWithConfigForTesting(w.bootstrap(node))
	if err != nil {
		return nil, err
	}
	cc, err := grpc.NewClient(target, grpc.WithResolvers(resolver), grpc.WithTransportCredentials(insecure.NewCredentials()))
	return goChannel{cc}, err
}

// Who implements [peer].
func (c goChannel) Who(ctx context.Context) (string, error) {
	var reply wrapperspb.StringValue
	err := c.Invoke(ctx, "/xdsforge.Peer/Who", new(emptypb.Empty), &reply, grpc.WaitForReady(true))
	return reply.GetValue(), err
}

// A planeClient is a client of go-control-plane for each type. Its "calls" read the newest assignment.
// It checks the assignments that it receives as an application would.
type planeClient struct {
	world  *world
	server string // its address
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	backend string
}

func openPlane(ctx context.Context, w *world, node string) (peer, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &planeClient{world: w, server: w.addr, cancel: cancel}
	p.group.Go(func() {
		for ctx.Err() == nil {
			p.follow(ctx, node)
			retry := time.NewTimer(100 * time.Millisecond)
			select {
			case <-retry.C:
			case <-ctx.Done():
			}
			retry.Stop()
		}
	})
	return p, nil
}

// follow runs one stream of each type, until one of them ends. go-control-plane's client has one type.
func (p *planeClient) follow(ctx context.Context, node string) {
	cc, err := grpc.NewClient("passthrough:///"+p.server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return
	}
	defer cc.Close()
	c := sotwv3.NewADSClient(ctx, &corev3.Node{Id: node}, endpointURL)
	if c.InitConnect(cc) != nil {
		return
	}
	for {
		r, err := c.Fetch()
		if err != nil {
			return
		}
		backend, err := "", errors.New("there is no assignment")
		if len(r.Resources) == 1 {
			backend, err = backendOf(p.world, r.Resources[0])
		}
		if err != nil {
			err = c.Nack(err.Error())
		} else {
			p.mu.Lock()
			p.backend = backend
			p.mu.Unlock()
			err = c.Ack()
		}
		if err != nil {
			return
		}
	}
}

const endpointURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// backendOf returns the backend of an assignment, or the reason to reject it.
func backendOf(w *world, resource *anypb.Any) (string, error) {
	a := new(endpointv3.ClusterLoadAssignment)
	if err := resource.UnmarshalTo(a); err != nil {
		return "", err
	}
	if a.GetEndpoints()[0].GetPriority() != 0 {
		return "", errors.New("there are no endpoints of priority 0")
	}
	address := a.GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress()
	for name, addr := range w.backends {
		if addr == fmt.Sprintf("%s:%d", address.GetAddress(), address.GetPortValue()) {
			return name, nil
		}
	}
	return "", errors.New("the endpoint is not a backend")
}

// Who implements [peer].
func (p *planeClient) Who(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.backend, nil
}

// Close implements [peer].
func (p *planeClient) Close() error {
	p.cancel()
	p.group.Wait()
	return nil
}
