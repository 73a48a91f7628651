package xdsconfig_test

import (
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/attributes"

	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// TestFrom expects the newest state of a channel, which need not be the one that was added.
func TestFrom(t *testing.T) {
	if s := xdsconfig.From(attributes.New("other", 1)); s != nil {
		t.Errorf("attributes without a state have %v", s)
	}
	first, newest := &xdsconfig.State{Where: "first"}, &xdsconfig.State{Where: "newest"}
	a := xdsconfig.With(nil, first)
	if s := xdsconfig.From(a); s != first {
		t.Errorf("the state is %v, want the one that was added", s)
	}
	first.Latest = new(atomic.Pointer[xdsconfig.State])
	first.Latest.Store(newest)
	if s := xdsconfig.From(a); s != newest {
		t.Errorf("the state is %v, want the newest one", s)
	}
}
