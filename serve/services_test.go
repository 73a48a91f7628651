package serve_test

import (
	"strings"
	"testing"
	"testing/synctest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	clusterservicev3 "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	runtimeservicev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

// The cluster discovery service serves clusters in both variants. Its requests may omit the type.
func TestServiceOfOneType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.put(b.main, "a", "one")
		client := clusterservicev3.NewClusterDiscoveryServiceClient(b.dial(""))
		whole, err := client.StreamClusters(t.Context())
		if err == nil {
			err = whole.Send(&discoveryv3.DiscoveryRequest{ResourceNames: []string{"a"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		if r, err := whole.Recv(); err != nil || len(r.GetResources()) != 1 || r.GetTypeUrl() != clusterURL {
			t.Errorf("state of the world: %v, %v; want the cluster a", r, err)
		}
		delta, err := client.DeltaClusters(t.Context())
		if err == nil {
			err = delta.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		if r, err := delta.Recv(); err != nil || len(r.GetResources()) != 1 || r.GetResources()[0].GetName() != "a" {
			t.Errorf("delta: %v, %v; want the cluster a", r, err)
		}
		for c := range b.server.Clients() {
			if c.Service != "envoy.service.cluster.v3.ClusterDiscoveryService" {
				t.Errorf("service = %s, want that of clusters", c.Service)
			}
		}
	})
}

// Another type on the service of one type ends the stream. A service of a type that the set lacks does
// not exist.
func TestServiceOfAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		cc := b.dial("")
		s, err := clusterservicev3.NewClusterDiscoveryServiceClient(cc).DeltaClusters(t.Context())
		if err == nil {
			err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.config.listener.v3.Listener"})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), clusterURL) {
			t.Errorf("listeners of the cluster service: %v, want INVALID_ARGUMENT that names %s", err, clusterURL)
		}
		r, err := runtimeservicev3.NewRuntimeDiscoveryServiceClient(cc).DeltaRuntime(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Recv(); status.Code(err) != codes.Unimplemented {
			t.Errorf("runtime service: %v, want UNIMPLEMENTED", err)
		}
	})
}

// Nodes of a view receive the resources of its source under old-style names, and the shared resources
// of other authorities.
func TestViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canary := source.NewMemory()
		b := newBench(t, nil, serve.WithViews(func(n *corev3.Node) string {
			return n.GetMetadata().GetFields()["stage"].GetStringValue() + n.GetCluster()
		}, map[string]source.Source{"canary": canary}))
		b.put(b.main, "a", "stable")
		b.put(canary, "a", "new")
		b.put(b.east, eastern, "shared")
		cc := b.dial("")
		for stage, want := range map[string]string{"canary": "new", "other": "stable", "": "stable"} {
			s := b.delta(cc)
			n := node("n")
			n.Cluster = stage
			if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{Node: n, TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a", eastern}}); err != nil {
				t.Fatal(err)
			}
			var bodies strings.Builder
			for count := 0; count < 2; {
				r, err := s.Recv()
				if err != nil {
					t.Fatal(err)
				}
				count += len(r.GetResources())
				for _, x := range r.GetResources() {
					bodies.Write(x.GetResource().GetValue())
				}
			}
			if text := bodies.String(); !strings.Contains(text, want) || !strings.Contains(text, "shared") {
				t.Errorf("stage %q receives %q, want %s and shared", stage, text, want)
			}
		}
		views := 0
		for c := range b.server.Clients() {
			if c.View == "canary" {
				views++
			}
		}
		if views != 1 {
			t.Errorf("%d clients of the view, want 1", views)
		}
	})
}

// The context parameters of a name belong to it: resources that differ by them are different.
func TestContextParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		one, two := eastern+"?zone=1", eastern+"?zone=2"
		b.put(b.east, one, "first")
		b.put(b.east, two, "second")
		s := b.delta(b.dial(""))
		glob := "xdstp://east/envoy.config.cluster.v3.Cluster/*?zone=2"
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{glob}}); err != nil {
			t.Fatal(err)
		}
		r, err := s.Recv()
		if err != nil || len(r.GetResources()) != 1 || r.GetResources()[0].GetName() != two {
			t.Errorf("members of %s: %v, %v; want %s", glob, r, err, two)
		}
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{one}}); err != nil {
			t.Fatal(err)
		}
		r, err = s.Recv()
		if err != nil || len(r.GetResources()) != 1 || r.GetResources()[0].GetName() != one {
			t.Errorf("%s: %v, %v; want the resource", one, r, err)
		}
	})
}
