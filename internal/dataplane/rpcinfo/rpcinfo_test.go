package rpcinfo_test

import (
	"context"
	"testing"

	"github.com/xdsforge/xdsforge/internal/dataplane/rpcinfo"
)

func TestFrom(t *testing.T) {
	if got := rpcinfo.From(t.Context()); got != nil {
		t.Errorf("From(a context without a call) = %v, want nil", got)
	}
	outer, inner := &rpcinfo.Call{Cluster: "outer"}, &rpcinfo.Call{Cluster: "inner"}
	ctx := rpcinfo.With(t.Context(), outer)
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if got := rpcinfo.From(derived); got != outer {
		t.Errorf("From(a derived context) = %v, want %v", got, outer)
	}
	if got := rpcinfo.From(rpcinfo.With(derived, inner)); got != inner {
		t.Errorf("From = %v, want what was put in last, %v", got, inner)
	}
}
