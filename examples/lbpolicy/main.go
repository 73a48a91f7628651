// Command lbpolicy has an LB policy of its own, which a control plane selects for a cluster (gRFC A52).
//
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds"
)

const policy = "acme.smallest_address"

// smallest sends every call to the endpoint with the smallest address.
type smallest struct{}

// Build implements [base.PickerBuilder]. gRPC calls it when the ready endpoints change.
func (smallest) Build(info base.PickerBuildInfo) balancer.Picker {
	best, address := balancer.PickResult{}, ""
	for sc, i := range info.ReadySCs {
		if address == "" || i.Address.Addr < address {
			best.SubConn, address = sc, i.Address.Addr
		}
	}
	if best.SubConn == nil {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	return picker{best}
}

type picker struct{ balancer.PickResult }

// Pick implements [balancer.Picker].
func (p picker) Pick(balancer.PickInfo) (balancer.PickResult, error) { return p.PickResult, nil }

func main() {
	balancer.Register(base.NewBalancerBuilder(policy, smallest{}, base.Config{})) // before the first channel
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	env, err := xdsforge.NewEnv(xdsforge.WithTypes(grpcxds.Register, func(r xdsforge.Registrar) {
		r.Extend(&resource.LBPolicy{Config: policy}) // clusters may name it
	}))
	if err != nil {
		return err
	}
	defer env.Close()
	cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///health", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var server peer.Peer
	_, err = healthpb.NewHealthClient(cc).Check(ctx, new(healthpb.HealthCheckRequest), grpc.Peer(&server), grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	fmt.Println("answered by", server.Addr)
	return nil
}
