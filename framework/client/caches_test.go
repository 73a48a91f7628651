package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// oneNode has every node read the same snapshot.
type oneNode struct{}

// ID implements [cachev3.NodeHash].
func (oneNode) ID(*corev3.Node) string { return "" }

const clusterType = "type.googleapis.com/" + clusterName

// allClusters are clusters that may be watched by the wildcard, too.
var allClusters = &resource.Descriptor{
	Name: clusterName, Complete: true, Wildcard: true, Decode: decodeCluster, NewShard: newShard, PeekName: clusters.PeekName,
}

// A filler replaces the clusters that a cache holds.
type filler func(version int, clusters ...*clusterv3.Cluster)

// realCaches are the caches of go-control-plane, each with its filler.
var realCaches = map[string]func(t *testing.T) (cachev3.Cache, filler){
	"snapshot":     func(t *testing.T) (cachev3.Cache, filler) { return snapshots(t, false) },
	"ads snapshot": func(t *testing.T) (cachev3.Cache, filler) { return snapshots(t, true) },
	"linear": func(*testing.T) (cachev3.Cache, filler) {
		c := cachev3.NewLinearCache(clusterType)
		return c, linear(c)
	},
	"mux": func(*testing.T) (cachev3.Cache, filler) {
		c := cachev3.NewLinearCache(clusterType)
		return &cachev3.MuxCache{
			Classify:      func(r *cachev3.Request) string { return r.GetTypeUrl() },
			ClassifyDelta: func(r *cachev3.DeltaRequest) string { return r.GetTypeUrl() },
			Caches:        map[string]cachev3.Cache{clusterType: c},
		}, linear(c)
	},
}

func snapshots(t *testing.T, ads bool) (cachev3.Cache, filler) {
	c := cachev3.NewSnapshotCache(ads, oneNode{}, nil)
	return c, func(version int, clusters ...*clusterv3.Cluster) {
		var list []types.Resource
		for _, r := range clusters {
			list = append(list, r)
		}
		s, err := cachev3.NewSnapshot(fmt.Sprint(version), map[string][]types.Resource{clusterType: list})
		if err == nil {
			err = c.SetSnapshot(t.Context(), "", s)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func linear(c *cachev3.LinearCache) filler {
	return func(_ int, clusters ...*clusterv3.Cluster) {
		set := make(map[string]types.Resource)
		for _, r := range clusters {
			set[r.GetName()] = r
		}
		c.SetResources(set)
	}
}

// A cacheTest is a client of a real cache, in a bubble.
type cacheTest struct {
	*client.Client
	t      *testing.T
	cache  string
	server *controlplane.Server
	log    *strings.Builder
	set    filler
}

func atCaches(t *testing.T, f func(t *testing.T, c *cacheTest)) {
	t.Helper()
	for cache := range realCaches {
		for _, protocol := range protocols {
			t.Run(cache+" "+protocol, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					kept, set := realCaches[cache](t)
					s, network := controlplane.InMemory(kept)
					defer s.Stop()
					log := new(strings.Builder)
					c, err := newWith(config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("passthrough:///memory", protocol)}}), mustSet(t, allClusters),
						withTransport(network), withLogger(slog.New(slog.NewTextHandler(log, nil))))
					if err != nil {
						t.Fatal(err)
					}
					f(t, &cacheTest{c, t, cache, s, log, set})
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func mustSet(t *testing.T, list ...*resource.Descriptor) *resource.Set {
	t.Helper()
	set, err := resource.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (c *cacheTest) watch(name string) (cancel func()) {
	c.t.Helper()
	cancel, err := c.Subscribe(allClusters, name, delivered(recorder{}))
	if err != nil {
		c.t.Fatal(err)
	}
	return cancel
}

func (c *cacheTest) has(name, want string) {
	c.t.Helper()
	if u, ok := lookup(c, allClusters, name); !ok || u.tag != want {
		c.t.Errorf("cluster %q = %v, want %q", name, u, want)
	}
}

// rejectionLines counts the lines about rejected responses.
func rejectionLines(log *strings.Builder) int {
	return strings.Count(log.String(), `rejected" server=`)
}

func badCluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{Name: name, LbPolicy: clusterv3.Cluster_MAGLEV}
}

// A cache resends rejected content at once, in any order, until the client has accepted a
// response of the type. The client answers such content with a delay.
func TestNoStormOfNACKs(t *testing.T) {
	for _, c := range []struct{ bad, changes int }{{1, 0}, {16, 0}, {1, 10}, {8, 10}} {
		atCaches(t, func(t *testing.T, k *cacheTest) {
			var list, good []*clusterv3.Cluster
			for i := range c.bad {
				list = append(list, badCluster(fmt.Sprint("bad", i)))
				k.watch(list[i].GetName())
			}
			if k.cache != "ads snapshot" { // it answers requests for all that it has, and no others
				for i := range 10 {
					list = append(list, &clusterv3.Cluster{Name: fmt.Sprint("later", i)})
				}
			}
			k.set(1, list...)
			pass(time.Second)
			for i := range c.changes {
				pass(500 * time.Millisecond)
				k.watch(fmt.Sprint("later", i))
			}
			pass(9*time.Second - time.Duration(c.changes)*500*time.Millisecond)
			if n, most := len(k.server.Rejections()), 12+c.changes; n == 0 || n > most {
				t.Errorf("%d bad, %d changes: %d NACKs in 10 s, want 1 to %d", c.bad, c.changes, n, most)
			}
			if n := rejectionLines(k.log); n == 0 || n > 2 {
				t.Errorf("%d bad, %d changes: %d log lines about rejections in 10 s, want 1 or 2:\n%s", c.bad, c.changes, n, k.log.String())
			}
			for i := range c.bad {
				good = append(good, &clusterv3.Cluster{Name: fmt.Sprint("bad", i), AltStatName: "good"})
			}
			k.set(2, append(good, list[c.bad:]...)...)
			pass(31 * time.Second)
			k.has("bad0", "good")
		})
	}
}

// Each of eleven names that are watched one after another brings a NACK. The log gathers them.
func TestRejectionsAreLoggedTogether(t *testing.T) {
	const names = 11
	atCaches(t, func(t *testing.T, k *cacheTest) {
		var list []*clusterv3.Cluster
		for i := range names {
			list = append(list, badCluster(fmt.Sprintf("bad%02d", i)))
		}
		k.set(1, list...)
		for i := range names {
			k.watch(list[i].GetName())
			pass(500 * time.Millisecond)
		}
		pass(10*time.Second - names*500*time.Millisecond)
		if n := rejectionLines(k.log); n == 0 || n > 2 {
			t.Errorf("%d log lines about rejections in 10 s; want 1 or 2:\n%s", n, k.log.String())
		}
		if n, most := len(k.server.Rejections()), 12+names; n == 0 || n > most {
			t.Errorf("%d NACKs in 10 s; want 1 to %d", n, most)
		}
		pass(6 * time.Second)
		for _, r := range list {
			if !strings.Contains(k.log.String(), r.GetName()) {
				t.Errorf("the log does not name %s:\n%s", r.GetName(), k.log.String())
			}
		}
	})
}

// A cache remembers which resources it sent as members of a wildcard.
func TestMemberOfAWildcardThatEndsIsWatchedByName(t *testing.T) {
	for _, apart := range []time.Duration{0, 500 * time.Millisecond} {
		atCaches(t, func(t *testing.T, c *cacheTest) {
			n := &clusterv3.Cluster{Name: "n"}
			if c.cache == "ads snapshot" {
				n.Name = "m" // it answers requests for all that it has, and no others
			}
			c.set(1, n, &clusterv3.Cluster{Name: "m", AltStatName: "1"})
			o, err := c.ObserveCollection(allClusters, resource.Wildcard)
			if err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			c.has("m", "1")
			o.Stop()
			if apart > 0 {
				pass(apart)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			f := follow(ctx, t, c, allClusters, "m")
			pass(5 * time.Second)
			c.has("m", "1")
			f.value("1")
			c.set(2, n, &clusterv3.Cluster{Name: "m", AltStatName: "2"})
			pass(time.Second)
			c.has("m", "2")
			if n := c.Shard(allClusters, mustParse(t, c, "n")).Len(); n != 1 {
				t.Errorf("%d clusters are cached, want only the one that is watched", n)
			}
			f.o.Stop()
		})
	}
}
