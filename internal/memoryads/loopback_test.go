package memoryads_test

import (
	"errors"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// TestLoopback expects a client of another implementation to get responses and status codes.
func TestLoopback(t *testing.T) {
	s := memoryads.NewServer(memoryads.Type{URL: "type"})
	s.Set("type", memoryads.Resource{Name: "a", Body: []byte("body")})
	addr, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(cc).StreamAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: "type", ResourceNames: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	if r, err := stream.Recv(); err != nil || len(r.GetResources()) != 1 || string(r.GetResources()[0].GetValue()) != "body" {
		t.Fatalf("response = %v, %v; want the resource", r, err)
	}
	s.Disconnect(errors.New("cut"))
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "cut" {
		t.Errorf("the stream ends with %v; want Unavailable", err)
	}
	loads, err := lrsv3.NewLoadReportingServiceClient(cc).StreamLoadStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loads.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream of another service ends with %v; want Unimplemented", err)
	}
}
