package bootstrap

import (
	"strings"
	"testing"
)

// Entries for files and memories have no channel, and need no channel credentials.
func TestLocalEntriesNeedNoCredentials(t *testing.T) {
	for uri, valid := range map[string]bool{
		"file:///etc/xds": true, "FILE:///etc/xds": true, "memory:rules": true,
		"xds.example.com:443": false, "dns:///file:1": false, "filesystem:///x": false,
	} {
		s, err := NewServer(ServerSpec{URI: uri})
		if (err == nil) != valid {
			t.Errorf("NewServer(%s) without credentials: %v, want valid = %t", uri, err, valid)
		}
		if valid && s.String() != uri {
			t.Errorf("String() = %q, want %q", s, uri)
		}
		if !valid && !strings.Contains(err.Error(), "channel_creds") {
			t.Errorf("NewServer(%s): %v, want an error about channel_creds", uri, err)
		}
	}
	if _, err := NewServer(ServerSpec{URI: "file:///x", ChannelCreds: []CredsSpec{{Type: "unknown"}}}); err == nil {
		t.Error("credentials of an unknown type are accepted")
	}
}
