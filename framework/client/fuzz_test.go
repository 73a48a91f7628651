package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// FuzzResponse sends arbitrary bytes between valid responses, in both variants. The client must
// neither panic nor stop. It must accept and answer the response after them.
func FuzzResponse(f *testing.F) {
	marshal := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	url := modelComplete.URL()
	body := func(s string) *anypb.Any { return &anypb.Any{TypeUrl: url, Value: []byte(s)} }
	wrapper := &discoveryv3.Resource{Name: "b", Aliases: []string{"a"}, Version: "7", Ttl: durationpb.New(time.Second), Resource: body("b|7")}
	failed := []*discoveryv3.ResourceError{{ResourceName: &discoveryv3.ResourceName{Name: "a"}}}
	f.Add(false, marshal(&discoveryv3.DiscoveryResponse{
		TypeUrl: url, Nonce: "n", VersionInfo: "1", ResourceErrors: failed,
		Resources: []*anypb.Any{body("a|x"), body("a|bad"), anyOf(f, wrapper), {}},
	}))
	f.Add(true, marshal(&discoveryv3.DeltaDiscoveryResponse{
		TypeUrl: url, Nonce: "n", RemovedResources: []string{"a", "xdstp:/"}, ResourceErrors: failed,
		Resources: []*discoveryv3.Resource{wrapper, {Name: "a"}, {}, {Name: "a", Resource: body("other|1")}},
	}))
	f.Add(true, marshal(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: modelPartial.URL()}))
	f.Add(false, []byte{0x0a, 0xff})
	f.Fuzz(func(t *testing.T, delta bool, raw []byte) {
		synctest.Test(t, func(t *testing.T) {
			s := memoryads.NewServer(memoryads.Type{URL: url, Complete: true})
			var features []any
			if delta {
				features = append(features, feature.TransportDelta)
			}
			types, err := resource.NewSet(modelTypes...)
			if err != nil {
				t.Fatal(err)
			}
			c, err := newWith(oneServer(t, "memory:1", features...), types, withTransport(memoryads.Network{"memory:1": s}))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }() // a connection in memory cannot fail to close
			fuzzed(t, s, c, raw)
		})
	})
}

func fuzzed(t *testing.T, s *memoryads.Server, c *client.Client, raw []byte) {
	put := func(value string) {
		s.Set(modelComplete.URL(), memoryads.Resource{Name: "a", Body: []byte("a|" + value)})
	}
	put("before")
	f := follow(t.Context(), t, c, modelComplete, "a")
	f.value("before")
	s.Inject(raw)
	synctest.Wait()
	put("after")
	f.value("after")
	pass(time.Minute) // a stream that was given up is there again, a lifetime is over
	put("at last")
	f.value("at last")
	synctest.Wait()
	if u := s.Unanswered(); len(u) > 0 {
		t.Errorf("unanswered: %q", u)
	}
}
