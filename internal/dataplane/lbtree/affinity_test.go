package lbtree_test

import (
	"context"
	"testing"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// The copy of a call goes to the cluster of its session only if its route has that cluster.
func TestWithAffinity(t *testing.T) {
	if _, c := lbtree.WithAffinity(t.Context(), nil, "b"); c != nil {
		t.Errorf("a context without a call has %v", c)
	}
	type otherKey struct{}
	call := &lbtree.Call{Cluster: "a", Clusters: []string{"a", "b"}}
	ctx := &lbtree.CallContext{Context: context.WithValue(t.Context(), otherKey{}, "kept"), Call: call}
	for cluster, want := range map[string]string{"a": "a", "b": "b", "c": "a", "": "a"} {
		bound, c := lbtree.WithAffinity(ctx, []string{"10.0.0.1:80"}, cluster)
		if c == nil || c == call || c.Cluster != want || c.Affinity == nil || c.Affinity.Addresses[0] != "10.0.0.1:80" {
			t.Fatalf("with cluster %q the call is %+v, want a copy for cluster %s with the address", cluster, c, want)
		}
		if lbtree.CallOf(bound) != c || bound.Value(otherKey{}) != "kept" {
			t.Errorf("the context has call %v and value %v, want the copy and the value", lbtree.CallOf(bound), bound.Value(otherKey{}))
		}
		if got := c.Affinity.Used(); got != "" {
			t.Errorf("the call was sent to %q before a pick", got)
		}
		addresses := "10.0.0.2:80,10.0.0.3:80"
		c.Affinity.Use(&addresses)
		if got := c.Affinity.Used(); got != addresses {
			t.Errorf("the call was sent to %q, want %q", got, addresses)
		}
	}
	if call.Affinity != nil || call.Cluster != "a" {
		t.Errorf("the original call has become %+v", call)
	}
}
