package client_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	clusterplugin "github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// reporting is a cluster whose load is to be reported.
func reporting(t *testing.T, name string) memoryads.Resource {
	t.Helper()
	self := &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
	body, err := proto.Marshal(&clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: self},
		LrsServer:            self,
	})
	if err != nil {
		t.Fatal(err)
	}
	return memoryads.Resource{Name: name, Body: body}
}

// `lrs_server: self` is the server that the cluster came from: after a fallback it is
// another one, although the cluster's bytes are the same (gRFC A47).
func TestLoadGoesWhereTheClusterComesFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memoryads.Network{}
		for _, uri := range []string{"first.example:1", "second.example:2"} {
			network[uri] = memoryads.NewServer(memoryads.Type{URL: clusterplugin.Type().URL(), Complete: true, Wildcard: true})
			network[uri].Set(clusterplugin.Type().URL(), reporting(t, "checkout"), reporting(t, "other"))
		}
		b := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("first.example:1"), server("second.example:2")}})
		reg := registry.New()
		standard.Register(reg)
		types, err := reg.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		c, err := newWith(b, types, withTransport(network))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		stop, err := clusterplugin.Subscribe(c, "checkout", func(ev clusterplugin.Event) {
			if ev.Err != nil {
				t.Error(ev.Err)
			} else if ev.Changed {
				got = append(got, ev.Update.LoadReports.URI())
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		network["first.example:1"].Refuse(errors.New("down"))
		network["first.example:1"].Disconnect(errors.New("down"))
		// A client falls back only for resources that are not cached (gRFC A71).
		stopOther, err := clusterplugin.Subscribe(c, "other", func(clusterplugin.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if len(got) != 2 || got[0] != "first.example:1" || got[1] != "second.example:2" {
			t.Errorf("load goes to %q; must be the first, then the second", got)
		}
		u, ok := clusterplugin.Lookup(c, "checkout")
		if !ok {
			t.Fatal("the cluster is not cached")
		}
		if _, err := c.LoadStore(u.LoadReports); err != nil {
			t.Errorf("the server that a cluster names: %v", err)
		}
		stop()
		stopOther()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
