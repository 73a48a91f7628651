package server

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/internal/dataplane/server"
)

// TestDefaults expects the grace time of A36 and the documented limit of handshakes.
func TestDefaults(t *testing.T) {
	if server.DefaultGrace.String() != "10m0s" || DefaultHandshakeLimit.String() != "2s" {
		t.Errorf("calls have a grace time of %v, handshakes one of %v; want 10m and 2s", server.DefaultGrace, DefaultHandshakeLimit)
	}
}

// TestStreamContext expects a stream to have the context that filters created, and the same stream
// if they created none.
func TestStreamContext(t *testing.T) {
	ss := contextStream{ctx: t.Context()}
	if same := withContext(ss, t.Context()); same != grpc.ServerStream(ss) {
		t.Errorf("the stream became %v although its context stays", same)
	}
	type key struct{}
	other := context.WithValue(t.Context(), key{}, 1)
	if got := withContext(ss, other).Context(); got != other {
		t.Errorf("the stream has the context %v, want that of the filters", got)
	}
}

// TestDescribe expects the error of the calls of a filter chain without routes, and nothing of one without a connection manager.
func TestDescribe(t *testing.T) {
	failure := unavailable("n", "no routes")
	if name, err := (&routing{err: failure}).Describe(); name != "" || err != failure { //nolint:errorlint // the same value
		t.Errorf("a routing that fails calls is described as %q, %v; want %v", name, err, failure)
	}
	if name, err := (*routing)(nil).Describe(); name != "" || err != nil {
		t.Errorf("no routing is described as %q, %v", name, err)
	}
}
