package client_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/fakeads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// The smallest windows that HTTP/2 servers of gRPC have: a request of 20,000 names
// does not fit.
const smallWindow = 64 << 10

const manyNames = 20_000

func longName(i int) string { return fmt.Sprintf("%s-%06d", strings.Repeat("n", 100), i) }

// A conversation is the server end of one stream, in state of the world or delta.
type conversation struct {
	// names waits for a request, and returns the names that it asks for.
	names func() ([]string, error)
	// send sends clusters.
	send func(version string, names ...string) error
}

// startSlow runs a server of one protocol variant with small windows.
func startSlow(t *testing.T, delta bool, talk func(conversation) error) (addr string) {
	t.Helper()
	small := []grpc.ServerOption{grpc.InitialWindowSize(smallWindow), grpc.InitialConnWindowSize(smallWindow), grpc.MaxRecvMsgSize(64 << 20)}
	start := func() (*fakeads.Server, error) {
		if !delta {
			return fakeads.Start(func(s fakeads.Stream) error { return talk(sotwConversation(t, s)) }, small...)
		}
		return fakeads.StartDelta(func(s fakeads.DeltaStream) error { return talk(deltaConversation(t, s)) }, small...)
	}
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s.Addr()
}

func sotwConversation(t *testing.T, s fakeads.Stream) conversation {
	return conversation{
		names: func() ([]string, error) {
			r, err := s.Recv()
			return r.GetResourceNames(), err
		},
		send: func(version string, names ...string) error {
			r := &discoveryv3.DiscoveryResponse{TypeUrl: slowType.URL(), VersionInfo: version, Nonce: version}
			for _, n := range names {
				r.Resources = append(r.Resources, anyOf(t, &discoveryv3.Resource{Name: n, Resource: anyOf(t, cluster(n, version))}))
			}
			return s.Send(r)
		},
	}
}

func deltaConversation(t *testing.T, s fakeads.DeltaStream) conversation {
	return conversation{
		names: func() ([]string, error) {
			r, err := s.Recv()
			return r.GetResourceNamesSubscribe(), err
		},
		send: func(version string, names ...string) error {
			r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: slowType.URL(), Nonce: version}
			for _, n := range names {
				r.Resources = append(r.Resources, &discoveryv3.Resource{Name: n, Version: version, Resource: anyOf(t, cluster(n, version))})
			}
			return s.Send(r)
		},
	}
}

// slowType is that of clusters, but absence from a response means nothing.
var slowType = &resource.Descriptor{Name: clusterName, Decode: decodeCluster, NewShard: newShard, PeekName: clusters.PeekName}

// A server that reads nothing while it sends: peers of this client deadlock when
// flow control blocks their request of 20,000 names, because their reader waits for their
// writer. Here neither reading nor subscribing depends on writing.
func TestReadingNeverDependsOnWriting(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			asked := make(chan struct{})
			addr := startSlow(t, delta, func(c conversation) error {
				if _, err := c.names(); err != nil {
					return err
				}
				if err := c.send("first", "first"); err != nil {
					return err
				}
				<-asked
				return talkWithoutReading(c)
			})
			var features []any
			if delta {
				features = []any{feature.TransportDelta}
			}
			c := newClientOf(t, oneServer(t, addr, features...), []*resource.Descriptor{slowType})
			ctx := testContext(t)
			first := follow(ctx, t, c, slowType, "first")
			first.value("first")
			var have sync.WaitGroup
			have.Add(manyNames)
			for i := range manyNames {
				once := sync.OnceFunc(have.Done)
				if _, err := c.Subscribe(slowType, longName(i), delivered(recorder{changed: func(resource.Update) { once() }})); err != nil {
					t.Fatal(err)
				}
			}
			close(asked)
			first.value("last unread")
			waitOrFail(t, have.Wait)
		})
	}
}

// talkWithoutReading sends far more than any window holds before it reads again; then
// it answers each request with more of the same before it reads the next.
func talkWithoutReading(c conversation) error {
	ballast := make([]string, 2000)
	for i := range ballast {
		ballast[i] = longName(manyNames + i) // nobody subscribed to them: the client skips them
	}
	for i := range 20 {
		if err := c.send(fmt.Sprint("unread ", i), append(ballast, "first")...); err != nil {
			return err
		}
	}
	if err := c.send("last unread", "first"); err != nil {
		return err
	}
	sent := make(map[string]bool)
	for n := 0; ; n++ {
		names, err := c.names()
		if err != nil {
			return err
		}
		var more []string
		for _, name := range names {
			if !sent[name] && name != "first" {
				sent[name] = true
				more = append(more, name)
			}
		}
		if len(more) == 0 {
			continue
		}
		if err := c.send(fmt.Sprint("answer ", n), more...); err != nil {
			return err
		}
	}
}
