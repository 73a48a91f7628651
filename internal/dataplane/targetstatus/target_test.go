package targetstatus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/targetstatus"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A tree has clusters, or fails to describe them.
type tree struct {
	state    string
	clusters []string
	err      error
}

// Describe implements [lbtree.Tree].
func (t tree) Describe(context.Context) (string, []dataplane.Cluster, error) {
	var list []dataplane.Cluster
	for _, name := range t.clusters {
		list = append(list, dataplane.Cluster{Name: name})
	}
	return t.state, list, t.err
}

func ready() error { return nil }

func config(t *testing.T) *xdsconfig.Config {
	t.Helper()
	l := plugincase.Read[*listener.Update](t, listener.Type(), new(listenerv3.Listener), `name: "l"
		api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		route_config { virtual_hosts { name: "h" domains: "svc" routes { match { prefix: "" } route { cluster: "a" } } } } } } }`)
	r := l.API.Routes.(listener.Inline).Config.(*route.Update)
	return &xdsconfig.Config{Listener: l, Route: r, VirtualHost: r.VirtualHost("svc")}
}

// TestTarget describes a target before its first configuration, with one, and after errors.
func TestTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		target := targetstatus.Target{Name: "xds:///svc", Authority: "svc"}
		step := func(when string, want dataplane.Target) {
			t.Helper()
			<-time.NewTimer(time.Second).C
			got, err := target.Describe(t.Context(), ready, new(lbtree.Trees))
			want.Taken = time.Now()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", when, err, diff)
			}
		}
		want := dataplane.Target{Target: "xds:///svc", Authority: "svc"}
		step("at first", want)

		c := config(t)
		target.Delivered(c, nil)
		want.Updated, want.Listener, want.Routes, want.VirtualHost = begin.Add(time.Second), "l", "l", "h"
		step("with a configuration", want)

		target.Rejected(errors.New("bad policy"))
		want.Err, want.ErrAt, want.Failing = "bad policy", begin.Add(2*time.Second), true
		step("with a rejected configuration", want)

		target.Delivered(&xdsconfig.Config{Listener: c.Listener}, nil)
		want.Updated, want.Routes, want.VirtualHost, want.Failing = begin.Add(3*time.Second), "", "", false
		step("with a configuration after an error", want)

		target.Delivered(nil, errors.New("no routes"))
		want = dataplane.Target{Target: "xds:///svc", Authority: "svc", Err: "no routes", ErrAt: begin.Add(4 * time.Second), Failing: true}
		step("without a configuration", want)

		target.Delivered(new(xdsconfig.Config), nil)
		want.Updated, want.Failing = begin.Add(5*time.Second), false
		step("with an empty configuration", want)
	})
}

// TestTrees expects the clusters of all trees, in order of their names, and the state of the first tree.
func TestTrees(t *testing.T) {
	var trees lbtree.Trees
	trees.Add(tree{state: "READY", clusters: []string{"d", "b"}})
	trees.Add(tree{state: "IDLE", err: serial.ErrClosed})
	trees.Add(tree{state: "CONNECTING", clusters: []string{"c", "a"}})
	target := targetstatus.Target{Name: "xds:///svc"}
	got, err := target.Describe(t.Context(), func() error { return errors.New("waits for r") }, &trees)
	if err != nil || got.State != "READY" || got.Pending != "waits for r" {
		t.Errorf("the target is %+v, %v; want state READY, pending", got, err)
	}
	names := ""
	for _, c := range got.Clusters {
		names += c.Name
	}
	if names != "abcd" {
		t.Errorf("the clusters are %q, want those of both trees that are open", names)
	}
	broken := errors.New("broken")
	trees.Add(tree{err: broken})
	if _, err := target.Describe(t.Context(), ready, &trees); !errors.Is(err, broken) || err.Error() != `target "xds:///svc": broken` {
		t.Errorf("a tree that fails gives the error %v, want it with the target", err)
	}
}
