package main

import "testing"

// The channel of grpc-go follows changes, rejects an invalid assignment, and survives a restart of the
// server.
func TestGRPC(t *testing.T) {
	if err := tell(t.Context(), "grpc-go", 4, openGo); err != nil {
		t.Error(err)
	}
}

// So does go-control-plane's client, which has one type.
func TestGoControlPlane(t *testing.T) {
	if err := tell(t.Context(), "go-control-plane", 1, openPlane); err != nil {
		t.Error(err)
	}
}

// A client that checks each response by the rules of the protocol finds no violation, in both variants.
// After the restart, the client of the delta protocol receives only differences.
func TestStrict(t *testing.T) {
	for name, delta := range map[string]bool{"delta": true, "whole": false} {
		t.Run(name, func(t *testing.T) {
			if err := tell(t.Context(), "strict", 4, openStrict(delta)); err != nil {
				t.Error(err)
			}
		})
	}
}
