package hostport_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/internal/hostport"
)

// Cut finds the port of an authority, and takes no other colon for its separator.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		authority, host, port string
		ok                    bool
	}{
		{"a", "a", "", false},
		{"", "", "", false},
		{"a:80", "a", "80", true},
		{":80", "", "80", true},
		{"a:", "a:", "", false},
		{"a:b", "a:b", "", false},
		{"a:+80", "a:+80", "", false},
		{"a:65536", "a:65536", "", false},
		{"a.:443", "a.", "443", true},
		{"[::1]", "[::1]", "", false},
		{"[::1]:80", "[::1]", "80", true},
	} {
		host, port, ok := hostport.Cut(tt.authority)
		if host != tt.host || port != tt.port || ok != tt.ok {
			t.Errorf("Cut(%q) = %q, %q, %v; want %q, %q, %v", tt.authority, host, port, ok, tt.host, tt.port, tt.ok)
		}
	}
}
