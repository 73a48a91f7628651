package adsgrpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// start serves a memory with a cluster, with or without the codec.
func start(t *testing.T, limits adsserver.Limits, opts ...grpc.ServerOption) (*source.Memory, *adsserver.Core, discoveryv3.AggregatedDiscoveryServiceClient) {
	t.Helper()
	m := source.NewMemory()
	core, err := adsserver.New(adsserver.Config{Source: m, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(opts...)
	Register(g, core)
	lis := bufconn.Listen(1 << 20)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(lis) }()
	cc, err := grpc.NewClient("passthrough:///", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		g.Stop()
		<-done
		_ = core.Close()
	})
	return m, core, discoveryv3.NewAggregatedDiscoveryServiceClient(cc)
}

func commit(t *testing.T, m *source.Memory, names ...string) {
	t.Helper()
	tx := new(source.Tx)
	for _, n := range names {
		tx.Put(source.Resource{Key: source.Key{Type: clusterURL, Name: n}, Body: []byte("\x0a\x01" + n)})
	}
	if _, err := m.Commit(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
}

// Generated clients read the responses of both variants, whether the server has the codec or not.
func TestBothVariants(t *testing.T) {
	for name, opts := range map[string][]grpc.ServerOption{"codec": ServerOptions(), "plain": nil} {
		t.Run(name, func(t *testing.T) {
			m, _, client := start(t, adsserver.Limits{}, opts...)
			commit(t, m, "a", "b")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			delta, err := client.DeltaAggregatedResources(ctx)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := client.StreamAggregatedResources(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := delta.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a", "b"}}); err != nil {
				t.Fatal(err)
			}
			if err := whole.Send(&discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a", "b"}}); err != nil {
				t.Fatal(err)
			}
			d, err := delta.Recv()
			if err != nil || len(d.GetResources()) != 2 || string(d.GetResources()[1].GetResource().GetValue()) != "\x0a\x01b" {
				t.Errorf("delta: %v, %v; want a and b", d, err)
			}
			w, err := whole.Recv()
			if err != nil || len(w.GetResources()) != 2 || string(w.GetResources()[0].GetValue()) != "\x0a\x01a" {
				t.Errorf("state of the world: %v, %v; want a and b", w, err)
			}
		})
	}
}

// The end of a stream has a status with the reason.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(*adsserver.Core, discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) error
		want codes.Code
		text string
	}{
		{"limit", func(_ *adsserver.Core, s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) error {
			return s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a", "b", "c"}})
		}, codes.ResourceExhausted, "names"},
		{"cut", func(c *adsserver.Core, _ discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) error {
			c.Cut(fmt.Errorf("maintenance"))
			return nil
		}, codes.Unavailable, "maintenance"},
		{"close", func(_ *adsserver.Core, s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) error {
			return s.CloseSend()
		}, codes.OK, "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, core, client := start(t, adsserver.Limits{Names: 2}, ServerOptions()...)
			commit(t, m, "a")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := client.DeltaAggregatedResources(ctx)
			if err == nil {
				err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}})
			}
			if err == nil {
				_, err = s.Recv() // the stream is established
			}
			if err == nil {
				err = test.end(core, s)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Recv()
			if test.want == codes.OK {
				if err == nil || err.Error() != test.text {
					t.Errorf("the stream ends with %v, want %s", err, test.text)
				}
			} else if status.Code(err) != test.want || !strings.Contains(err.Error(), test.text) {
				t.Errorf("the stream ends with %v, want %v: %s", err, test.want, test.text)
			}
		})
	}
}
