package grpctransport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The transport looks for Google credentials when a stream needs them, and again if it found none.
func TestGoogleDefaultIsFoundWhenNeeded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	bundle, _, err := builtinChannelCredentials()["google_default"](nil)
	if err != nil {
		t.Fatal(err)
	}
	creds, ok := bundle.PerRPCCredentials().(*applicationDefault)
	if !ok || !creds.RequireTransportSecurity() {
		t.Fatalf("credentials = %v; want some that are not found yet, for secure connections only", bundle.PerRPCCredentials())
	}
	if _, err := creds.GetRequestMetadata(t.Context(), "https://xds.test"); err == nil || !strings.Contains(err.Error(), "google_default") {
		t.Errorf("error = %v, want that they are not found", err)
	}
	user := `{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}`
	if err := os.WriteFile(file, []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := creds.find(t.Context()); err != nil {
		t.Error(err)
	}
}
