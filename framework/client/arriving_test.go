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

// A slowLink needs a time for 4 KiB, half a second at first.
type slowLink struct {
	net.Conn
	pace *atomic.Int64
}

// Read implements [net.Conn].
func (l slowLink) Read(b []byte) (int, error) {
	<-time.NewTimer(time.Duration(l.pace.Load())).C
	return l.Conn.Read(b[:min(len(b), 4<<10)])
}

// A large server answers the first request with one resource, of 1 MiB.
type large struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
}

// StreamAggregatedResources implements the service.
func (large) StreamAggregatedResources(s fakeads.Stream) error {
	req, err := s.Recv()
	if err != nil {
		return err
	}
	body := &anypb.Any{TypeUrl: req.GetTypeUrl(), Value: []byte("large|" + strings.Repeat("x", 1<<20))}
	if err := s.Send(&discoveryv3.DiscoveryResponse{TypeUrl: req.GetTypeUrl(), Nonce: "1", VersionInfo: "1", Resources: []*anypb.Any{body}}); err != nil {
		return err
	}
	for err == nil {
		_, err = s.Recv()
	}
	return err
}

// newSlowLink returns a client of a large server behind a slow link.
func newSlowLink(t *testing.T) (c *client.Client, typ *resource.Descriptor, pace *atomic.Int64) {
	t.Helper()
	lis, g := bufconn.Listen(4<<10), grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, large{})
	go func() { _ = g.Serve(lis) }() // ends with Stop
	t.Cleanup(g.Stop)
	pace = new(atomic.Int64)
	pace.Store(int64(time.Second / 2))
	dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := lis.DialContext(ctx)
		return slowLink{conn, pace}, err
	})
	some := *things
	some.Collection, some.Complete = "", false
	types, err := resource.NewSet(&some)
	if err != nil {
		t.Fatal(err)
	}
	spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("passthrough:///slow")}}
	c, err = newWith(config(t, spec), types, withTransport(grpctransport.New(grpctransport.WithDialOptions(dialer))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, &some, pace
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
			t.Errorf("another resource of the type times out %v after the response; want the time that it had left", d)
		}
	})
}

// A response that does not arrive further stops no timer.
func TestTimersDoNotWaitForAResponseThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, typ, pace := newSlowLink(t)
		f := follow(t.Context(), t, c, typ, "large")
		began := time.Now()
		pass(20 * time.Second)
		pace.Store(int64(time.Hour))
		f.failed(resource.ErrNotFound)
		if d := time.Since(began); d < 25*time.Second || d > 45*time.Second {
			t.Errorf("the resource does not exist after %v, want 15 s and the 25 s in which the response seemed to arrive", d)
		}
	})
}

// A response that trickles in for ever stops timers for no longer than five minutes.
func TestTimersDoNotWaitForAResponseThatTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, typ, pace := newSlowLink(t)
		f := follow(t.Context(), t, c, typ, "large")
		began := time.Now()
		pass(20 * time.Second)
		pace.Store(int64(4 * time.Second))
		f.failed(resource.ErrNotFound)
		if d := time.Since(began); d < 4*time.Minute || d > 6*time.Minute {
			t.Errorf("the resource does not exist after %v, want about five minutes", d)
		}
	})
}
