package lbtree_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/attributes"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// TestStateOf expects the newest state of a channel, which need not be the one that was added.
func TestStateOf(t *testing.T) {
	if s := lbtree.StateOf(attributes.New("other", 1)); s != nil {
		t.Errorf("attributes without a state have %v", s)
	}
	first, newest := &lbtree.State{Where: "first"}, &lbtree.State{Where: "newest"}
	a := lbtree.WithState(nil, first)
	if s := lbtree.StateOf(a); s != first {
		t.Errorf("the state is %v, want the one that was added", s)
	}
	first.Latest = new(atomic.Pointer[lbtree.State])
	first.Latest.Store(newest)
	if s := lbtree.StateOf(a); s != newest {
		t.Errorf("the state is %v, want the newest one", s)
	}
}

// A State without a configuration has no clusters. An unusable cluster has the reason.
func TestCluster(t *testing.T) {
	u, unusable := new(cluster.Update), errors.New("unusable")
	s := &lbtree.State{Config: &xdsconfig.Config{Clusters: map[string]xdsconfig.Cluster{"c": {Update: u}, "bad": {Err: unusable, Update: u}}}}
	if got, err := s.Cluster("c"); got != u || err != nil {
		t.Errorf("the cluster is %v, %v; want the resource", got, err)
	}
	if got, err := s.Cluster("bad"); got != nil || !errors.Is(err, unusable) {
		t.Errorf("an unusable cluster is %v, %v; want the reason", got, err)
	}
	if got, err := s.Cluster("other"); got != nil || err == nil {
		t.Errorf("an unknown cluster is %v, %v; want an error", got, err)
	}
	for _, none := range []*lbtree.State{nil, {}} {
		if got, err := none.Cluster("c"); got != nil || err == nil {
			t.Errorf("without a configuration the cluster is %v, %v; want an error", got, err)
		}
	}
}

func TestCallOf(t *testing.T) {
	if got := lbtree.CallOf(t.Context()); got != nil {
		t.Errorf("CallOf(a context without a call) = %v, want nil", got)
	}
	outer, inner := &lbtree.Call{Cluster: "outer"}, &lbtree.Call{Cluster: "inner"}
	ctx := lbtree.WithCall(t.Context(), outer)
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if got := lbtree.CallOf(derived); got != outer {
		t.Errorf("CallOf(a derived context) = %v, want %v", got, outer)
	}
	if got := lbtree.CallOf(lbtree.WithCall(derived, inner)); got != inner {
		t.Errorf("CallOf = %v, want the call that was added last, %v", got, inner)
	}
}
