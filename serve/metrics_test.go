package serve_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/scrape"
	"github.com/xdsforge/xdsforge/serve"
)

// The metrics count messages by type, and show the lag of clients and the age of sources.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter := scrape.NewMeter()
		b := newBench(t, nil, serve.WithMeterProvider(meter), serve.WithLimits(serve.Limits{Names: 2}))
		b.put(b.main, "a", "one")
		s, other := b.open("a"), b.open("a")
		for _, s := range []deltaStream{s, other} {
			r, err := s.Recv()
			if err == nil {
				err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce()})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := end(b.open("a", "b", "c")); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("three names end with %v, want RESOURCE_EXHAUSTED", err)
		}
		pass(time.Second)
		b.put(b.main, "a", "two")
		r, err := s.Recv()
		if err == nil {
			err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce(), ErrorDetail: status.New(codes.InvalidArgument, "no").Proto()})
		}
		if err != nil {
			t.Fatal(err)
		}
		b.east.SetState(source.State{Kind: source.Stale})
		pass(5 * time.Second)
		got, err := meter.Lines(t.Context(), "xdsforge.xds_server.")
		if err != nil {
			t.Fatal(err)
		}
		const cds = "{grpc.xds.resource_type=envoy.config.cluster.v3.Cluster} "
		want := []string{
			"xdsforge.xds_server.lag" + cds + "5",
			"xdsforge.xds_server.rejections" + cds + "1",
			"xdsforge.xds_server.requests" + cds + "6",
			"xdsforge.xds_server.responses" + cds + "4",
			"xdsforge.xds_server.source_age{grpc.xds.authority=#old} 0",
			"xdsforge.xds_server.source_age{grpc.xds.authority=east} 5",
			"xdsforge.xds_server.streams_behind" + cds + "2",
			"xdsforge.xds_server.streams_ended{xdsforge.xds_server.reason=Limits.Names} 1",
			"xdsforge.xds_server.streams{} 2",
		}
		if !slices.Equal(got, want) {
			t.Errorf("metrics:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
