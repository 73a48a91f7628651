package main

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCalls expects the client in Go to make each kind of calls to the server in Go.
func TestCalls(t *testing.T) {
	w, err := newWorld()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	site, err := w.site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows() {
		if n, err := w.calls(t.Context(), site, r); n < 5 || err != nil {
			t.Errorf("%s on %s: %d kinds of calls, %v; want all of them", r.protocol, r.version, n, err)
		}
	}
}
