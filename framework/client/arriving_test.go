package client_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/fakeads"
)

// A slowLink lets 4 KiB through in half a second, and nothing once it is stuck.
type slowLink struct {
	net.Conn
	stuck *atomic.Bool
}

func (l slowLink) Read(b []byte) (int, error) {
	<-time.NewTimer(500 * time.Millisecond).C
	for l.stuck.Load() {
		<-time.NewTimer(time.Second).C
	}
	return l.Conn.Read(b[:min(len(b), 4<<10)])
}

// A large server answers the first request with one resource, of 300 KiB.
type large struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
}

// StreamAggregatedResources implements the service.
func (large) StreamAggregatedResources(s fakeads.Stream) error {
	req, err := s.Recv()
	if err != nil {
		return err
	}
	body := &anypb.Any{TypeUrl: req.GetTypeUrl(), Value: []byte("large|" + strings.Repeat("x", 300<<10))}
	if err := s.Send(&discoveryv3.DiscoveryResponse{TypeUrl: req.GetTypeUrl(), Nonce: "1", VersionInfo: "1", Resources: []*anypb.Any{body}}); err != nil {
		return err
	}
	for err == nil {
		_, err = s.Recv()
	}
	return err
}

// newSlowLink is a client that is linked so to such a server.
func newSlowLink(t *testing.T) (c *client.Client, typ *resource.Type, stuck *atomic.Bool) {
	t.Helper()
	lis, g := bufconn.Listen(4<<10), grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, large{})
	go func() { _ = g.Serve(lis) }() // ends with Stop
	t.Cleanup(g.Stop)
	stuck = new(atomic.Bool)
	dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := lis.DialContext(ctx)
		return slowLink{conn, stuck}, err
	})
	some := *things
	some.Collection, some.Complete = "", false
	types, err := resource.NewSet(&some)
	if err != nil {
		t.Fatal(err)
	}
	spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("passthrough:///slow")}}
	c, err = client.New(config(t, spec), types, client.WithTransport(grpctransport.New(grpctransport.WithDialOptions(dialer))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stuck.Store(false)
		_ = c.Close()
	})
	return c, &some, stuck
}

// A response that takes longer to arrive than the does-not-exist timer runs stops it.
func TestTimersWaitForAResponseThatArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, typ, _ := newSlowLink(t)
		absent := follow(t.Context(), t, c, typ, "absent")
		arriving := follow(t.Context(), t, c, typ, "large")
		began := time.Now()
		if _, err := arriving.until("a word", func(*update, error) bool { return true }); err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		if d := time.Since(began); d < 30*time.Second {
			t.Fatalf("the response arrived in %v; want a link that takes longer", d)
		}
		arrived := time.Now()
		absent.failed(resource.ErrNotFound)
		if d := time.Since(arrived); d < 5*time.Second || d > 15*time.Second+client.DefaultWatcherBudget {
			t.Errorf("another resource of the type does not exist %v after the response, want that it has the time left that it had", d)
		}
	})
}

// A response that does not arrive further stops no timer.
func TestTimersDoNotWaitForAResponseThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, typ, stuck := newSlowLink(t)
		f := follow(t.Context(), t, c, typ, "large")
		began := time.Now()
		pass(20 * time.Second)
		stuck.Store(true)
		f.failed(resource.ErrNotFound)
		if d := time.Since(began); d < 25*time.Second || d > 45*time.Second {
			t.Errorf("the resource does not exist after %v, want 15 s and the 25 s in which the response seemed to arrive", d)
		}
	})
}
