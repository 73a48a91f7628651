package server

import (
	"testing"
)

// TestDefaults expects the grace time of A36 and the documented limit of handshakes.
func TestDefaults(t *testing.T) {
	if DefaultGrace.String() != "10m0s" || DefaultHandshakeLimit.String() != "2s" {
		t.Errorf("calls have a grace time of %v, handshakes one of %v; want 10m and 2s", DefaultGrace, DefaultHandshakeLimit)
	}
}
