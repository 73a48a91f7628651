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
