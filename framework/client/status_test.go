package client_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// summary takes a summary when the client is idle.
func summary(t *testing.T, c *client.Client) status.Snapshot {
	t.Helper()
	synctest.Wait()
	s, err := c.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A summary has the counts of the resources and no resources. A snapshot has both.
func TestSummaryCountsResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t)
		s.Set(things.URL(), thing("a", "1"), thing("b", "bad"), thing("xdstp://e/test.Thing/c", "1"))
		for _, name := range []string{"xdstp://e/test.Thing/c", "a", "b", "d"} {
			follow(t.Context(), t, c, things, name)
		}
		<-time.NewTimer(time.Second).C // requests for several names have a pace
		synctest.Wait()
		count := func(authority, state string, cached bool) status.Count {
			return status.Count{Authority: authority, OldStyle: authority == "", Type: "test.Thing", State: state, Cached: cached, Resources: 1}
		}
		want := []status.Count{count("", "REQUESTED", false), count("", "ACKED", true), count("", "NACKED", false), count("e", "ACKED", true)}
		if got := summary(t, c); !slices.Equal(got.Counts, want) || got.Resources != nil || len(got.Servers) != 1 || len(got.Authorities) != 2 {
			t.Errorf("summary = %v with counts %v, want %v and no resources", got, got.Counts, want)
		}
		p, err := c.Snapshot(t.Context())
		if err != nil || !slices.Equal(p.Counts, want) || len(p.Resources) != 4 {
			t.Fatalf("snapshot = %v with counts %v, %v; want %v", p, p.Counts, err, want)
		}
		if b := p.Resources[1]; b.ErrAt.IsZero() || !b.ErrAt.Equal(b.RejectedAt) {
			t.Errorf("b failed at %v, want the time of its rejection %v", b.ErrAt, b.RejectedAt)
		}
		for _, r := range p.Resources {
			if want := thing("b", "bad").Body; r.State == "NACKED" != (r.RejectedMessage != nil) || r.RejectedMessage != nil && !bytes.Equal(r.RejectedMessage, want) {
				t.Errorf("%v has the rejected message %q, want %q for the rejected resource and none for others", r, r.RejectedMessage, want)
			}
		}
	})
}

// The node of a snapshot is the one in the first request of a stream.
func TestSnapshotHasTheNodeAsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t)
		follow(t.Context(), t, c, things, "a")
		got := summary(t, c).Node
		var want *corev3.Node
		for _, msg := range s.Requests() {
			if n := msg.(*discoveryv3.DiscoveryRequest).GetNode(); n != nil {
				want = n
			}
		}
		if !proto.Equal(got, want) || got.GetUserAgentName() == "" || len(got.GetClientFeatures()) == 0 {
			t.Errorf("node = %v, want %v", got, want)
		}
		got.Id = "changed"
		if again := summary(t, c).Node; !proto.Equal(again, want) {
			t.Errorf("a change of a snapshot changed the next one to %v", again)
		}
	})
}

// A summary of 100,000 resources takes less than a millisecond: see its time per operation.
func BenchmarkSummary(b *testing.B) {
	for _, n := range []int{0, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			types, err := resource.NewSet(things)
			if err != nil {
				b.Fatal(err)
			}
			network := memoryads.Network{"memory:1": memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true})}
			c, err := newWith(config(b, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1")}}), types, withTransport(network))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			for i := range n {
				if _, err := c.Observe(things, fmt.Sprint(i)); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := c.Summary(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
