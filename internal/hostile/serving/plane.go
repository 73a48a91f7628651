package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsgrpc"
	"github.com/xdsforge/xdsforge/internal/hostile/beat"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A plane is the honest control plane, which the daemon relays.
type plane struct {
	addr  string
	core  *adsserver.Core
	grpc  *grpc.Server
	ended chan struct{}
}

// startPlane starts a control plane whose cluster changes until ctx ends.
func startPlane(ctx context.Context) (*plane, error) {
	memory := source.NewMemory()
	core, err := adsserver.New(adsserver.Config{Source: memory}) //nolint:contextcheck // a core ends with Close
	if err != nil {
		return nil, err
	}
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, core.Close())
	}
	p := &plane{addr: lis.Addr().String(), core: core, grpc: grpc.NewServer(adsgrpc.ServerOptions()...), ended: make(chan struct{})}
	adsgrpc.Register(p.grpc, core) //nolint:contextcheck // streams have contexts of their own
	go func() { _ = p.grpc.Serve(lis) }()
	go func() {
		defer close(p.ended)
		ticks := time.NewTicker(beat.Every)
		defer ticks.Stop()
		for {
			if err := change(ctx, memory); err != nil {
				return // ctx has ended
			}
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return p, nil
}

// change puts a cluster that has the time as its value.
func change(ctx context.Context, memory *source.Memory) error {
	body, err := proto.Marshal(beat.Cluster(beat.Name, strconv.FormatInt(time.Now().UnixNano(), 10)))
	if err != nil {
		return err
	}
	_, err = memory.Commit(ctx, new(source.Tx).Put(source.Resource{Key: source.Key{Type: cluster.Type().URL(), Name: beat.Name}, Body: body}))
	return err
}

// stop ends the control plane. The context of its start must have ended.
func (p *plane) stop() {
	<-p.ended
	p.grpc.Stop()
	_ = p.core.Close() // it has no error
}
