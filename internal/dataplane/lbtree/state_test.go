package lbtree_test

import (
	"context"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/attributes"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
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
