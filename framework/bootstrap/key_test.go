package bootstrap

import (
	"strings"
	"testing"
)

func serverWith(uri, channel, call, features string) string {
	return `{"server_uri": "` + uri + `", "channel_creds": [` + channel + `], "call_creds": [` + call + `], "server_features": [` + features + `]}`
}

// TestKey expects equal keys within a group and different keys between groups.
func TestKey(t *testing.T) {
	const jwt = `{"type": "jwt_token_file", "config": {"jwt_token_file": "/a"}}`
	groups := [][]string{
		{
			serverWith("xds.example.com:443", `{"type": "tls"}`, ``, ``),
			serverWith("dns:///xds.example.com:443", `{"type": "tls"}`, ``, ``),
			serverWith("dns:xds.example.com:443", `{"type": "tls", "config": {}}`, ``, ``),
			serverWith("xds.example.com:443", `{"type": "alts"}, {"type": "tls"}, {"type": "insecure"}`, ``, ``),
			serverWith("xds.example.com:443", `{"type": "tls", "config": null}`, `{"type": "unknown"}`, `"unknown", 1, {}`),
		},
		{serverWith("xds.example.com:444", `{"type": "tls"}`, ``, ``)},
		{serverWith("xds.example.com:443", `{"type": "insecure"}`, ``, ``)},
		{
			serverWith("xds.example.com:443", `{"type": "tls", "config": {"ca_certificate_file": "/a", "x": {"b": [1, 2], "c": 1e400}}}`, ``, ``),
			serverWith("xds.example.com:443", `{"type": "tls", "config": { "x" : {"c":1e400,"b":[1,2]},"ca_certificate_file":"\u002fa"}}`, ``, ``),
		},
		{serverWith("xds.example.com:443", `{"type": "tls", "config": {"ca_certificate_file": "/b", "x": {"b": [1, 2], "c": 1e400}}}`, ``, ``)},
		{serverWith("xds.example.com:443", `{"type": "tls", "config": {"ca_certificate_file": "/a", "x": {"b": [2, 1], "c": 1e400}}}`, ``, ``)},
		{serverWith("xds.example.com:443", `{"type": "tls", "config": {"n": 9007199254740993}}`, ``, ``)},
		{serverWith("xds.example.com:443", `{"type": "tls", "config": {"n": 9007199254740992}}`, ``, ``)},
		{serverWith("xds.example.com:443", `{"type": "tls", "config": {"n": "9007199254740992"}}`, ``, ``)},
		{serverWith("xds.example.com:443", `{"type": "tls"}`, jwt, ``)},
		{serverWith("xds.example.com:443", `{"type": "tls"}`, strings.Replace(jwt, "/a", "/b", 1), ``)},
		{serverWith("xds.example.com:443", `{"type": "tls"}`, jwt+`, `+jwt, ``)},
		{
			serverWith("xds.example.com:443", `{"type": "tls"}`, ``, `"xds_v3", "fail_on_data_errors"`),
			serverWith("xds.example.com:443", `{"type": "tls"}`, ``, `"fail_on_data_errors", "xds_v3", "xds_v3", "x"`),
		},
		{
			serverWith("xds.example.com:443", `{"type": "tls"}`, ``, `"resource_timer_is_transient_error"`),
			serverWith("xds.example.com:443", `{"type": "tls"}`, ``, `"resource_timer_is_transient_failure"`),
		},
		{serverWith("xds.example.com:443", `{"type": "tls"}`, ``, `"ignore_resource_deletion"`)},
		{serverWith("xds.example.com:443", `{"type": "tls"}`, ``, `"trusted_xds_server"`)},
	}
	seen := make(map[string]int)
	for i, group := range groups {
		first := mustServer(t, group[0])
		if j, dup := seen[first.Key()]; dup {
			t.Errorf("groups %d and %d have the same key: %s", j, i, group[0])
		}
		seen[first.Key()] = i
		for _, entry := range group {
			if s := mustServer(t, entry); s.Key() != first.Key() || !s.Equal(first) {
				t.Errorf("group %d: another key for %s", i, entry)
			}
		}
	}
	a, b := mustServer(t, groups[0][0]), mustServer(t, groups[1][0])
	if a.Equal(b) || a.Equal(nil) || (*Server)(nil).Equal(a) || !(*Server)(nil).Equal(nil) {
		t.Error("Equal is wrong")
	}
}

func TestCanonicalURI(t *testing.T) {
	for in, want := range map[string]string{
		// The forms of one endpoint.
		"dns:h:1":    "dns:///h:1",
		"dns:/h:1":   "dns:///h:1",
		"dns:///h:1": "dns:///h:1",
		"DNS:///h:1": "dns:///h:1",
		// gRPC's default scheme.
		"h.example:1": "dns:///h.example:1",
		"h.example":   "dns:///h.example",
		"localhost":   "dns:///localhost",
		"10.0.0.1:1":  "dns:///10.0.0.1:1",
		"[::1]:1":     "dns:///[::1]:1",
		"::1":         "dns:///::1",
		// A word before a colon may be the scheme of a resolver or a host name.
		"localhost:1":         "localhost:1",
		"unix:1":              "unix:1",
		"xds:h.example:1":     "xds:h.example:1",
		"unix:///run/xds":     "unix:///run/xds",
		"unix-abstract:x":     "unix-abstract:x",
		"passthrough:///h:1":  "passthrough:///h:1",
		"h.example:http":      "h.example:http",
		"h.example:":          "h.example:",
		"https://h.example:1": "https://h.example:1",
		"h.example/x":         "h.example/x",
		// These are the first and last characters that a scheme may have, and their neighbours.
		"a:1": "a:1", "z:1": "z:1", "A:1": "A:1", "M:1": "M:1", "Z:1": "Z:1",
		"`:1": "dns:///`:1", "{:1": "dns:///{:1", "@:1": "dns:///@:1", "[:1": "dns:///[:1",
		// A DNS server is part of the target. The resolver sets the default port.
		"dns://8.8.8.8/h:1": "dns://8.8.8.8/h:1",
		"dns:///h":          "dns:///h",
		"dns:///H:1":        "dns:///H:1",
	} {
		if got := canonicalURI(in); got != want {
			t.Errorf("canonicalURI(%q) = %q, want %q", in, got, want)
		}
	}
}
