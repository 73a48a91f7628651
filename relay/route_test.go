package relay_test

import (
	"context"
	"fmt"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/relay"
	"github.com/xdsforge/xdsforge/serve"
)

// A report with the load of authorities that do not exist costs about as much as any other: the relay does not ask its client
// for its whole state each time.
func TestLoadOfUnknownAuthorities(t *testing.T) {
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(clientOf(t, types, grpc.EmptyDialOption{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report := func(name string) float64 {
		x := serve.LoadReport{Stream: ctx, Clusters: []*endpointv3.ClusterStats{{ClusterName: name}}}
		return testing.AllocsPerRun(1000, func() { r.AddLoad(x) }) //nolint:contextcheck // the report has the context of its stream
	}
	if allocs := report("xdstp://unknown/envoy.config.cluster.v3.Cluster/c"); allocs > 5 {
		t.Errorf("a report of an unknown authority takes %v allocations, want at most 5, as one of a known authority", allocs)
	}
	if n := fmt.Sprint(r.Status().UnreportedLoad); n != "1001" {
		t.Errorf("%s clusters were not reported, want 1001", n)
	}
}
