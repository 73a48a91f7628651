package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

const minimal = `{"xds_servers": [{"server_uri": "%s", "channel_creds": [{"type": "insecure"}]}]}`

func withURI(uri string) string { return strings.Replace(minimal, "%s", uri, 1) }

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(file, []byte(withURI("file")), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"xds_servers": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.json")
	for _, tt := range []struct{ why, file, content, uri, err string }{
		{"neither", "", "", "", `bootstrap: GRPC_XDS_BOOTSTRAP and GRPC_XDS_BOOTSTRAP_CONFIG = ""; one must be set`},
		{"the content", "", withURI("content"), "content", ""},
		{"the file", file, "", "file", ""},
		{"the file wins", file, withURI("content"), "file", ""},
		{"also if it is missing", missing, withURI("content"), "", "bootstrap: GRPC_XDS_BOOTSTRAP=" + missing + ": open "},
		{"also if it is broken", broken, withURI("content"), "", "bootstrap: GRPC_XDS_BOOTSTRAP=" + broken + ": xds_servers = a number; must be a list"},
		{"broken content", "", "{", "", "bootstrap: GRPC_XDS_BOOTSTRAP_CONFIG: line 1, column 1 = a syntax error"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Setenv(EnvFile, tt.file)
			t.Setenv(EnvContent, tt.content)
			c, err := Load()
			if tt.err != "" {
				if c != nil || err == nil || !strings.HasPrefix(err.Error(), tt.err) {
					t.Errorf("Load() = %v, %v; want %s", c, err, tt.err)
				}
			} else if err != nil || c.Servers()[0].URI() != tt.uri {
				t.Errorf("Load() = %v, %v; want the server %s", c, err, tt.uri)
			}
			if errors.Is(err, ErrNotConfigured) != (tt.why == "neither") {
				t.Errorf("Load(): %v", err)
			}
		})
	}
	if _, err := LoadFile(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("LoadFile of a missing file: %v", err)
	}
	if c, err := LoadFile(file); err != nil || c.Servers()[0].URI() != "file" {
		t.Errorf("LoadFile = %v, %v", c, err)
	}
}

func TestFederationSwitch(t *testing.T) {
	for env, want := range map[string]bool{"": true, "true": true, "false": false, "FALSE": true, "0": true, "no": true} {
		t.Setenv(envFederation, env)
		if got := mustParse(t, withURI("u")).Federation(); got != want {
			t.Errorf("%s=%q: Federation() = %v", envFederation, env, got)
		}
		for _, on := range []bool{true, false} {
			if got := mustParse(t, withURI("u"), WithFederation(on)).Federation(); got != on {
				t.Errorf("%s=%q, WithFederation(%v): Federation() = %v", envFederation, env, on, got)
			}
		}
	}
}

func TestNode(t *testing.T) {
	const servers = `"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}]`
	want := &corev3.Node{
		Id: "n", Cluster: "c",
		Metadata:      &structpb.Struct{Fields: map[string]*structpb.Value{"k": structpb.NewNumberValue(1)}},
		Locality:      &corev3.Locality{Region: "r", SubZone: "s"},
		UserAgentName: "file",
	}
	for _, node := range []string{
		`{"id": "n", "cluster": "c", "metadata": {"k": 1}, "locality": {"region": "r", "sub_zone": "s"}, "user_agent_name": "file", "build_version": "old", "unknown": [{}]}`,
		`{"id": "n", "cluster": "c", "metadata": {"k": 1}, "locality": {"region": "r", "subZone": "s"}, "userAgentName": "file"}`,
	} {
		c := mustParse(t, `{"node": `+node+`, `+servers+`}`)
		if got := c.Node(); !proto.Equal(got, want) {
			t.Errorf("Node() = %v, want %v", got, want)
		}
		c.Node().Id = "changed"
		if c.Node().GetId() != "n" {
			t.Error("Node() is no copy")
		}
	}
	if got := mustParse(t, `{`+servers+`}`).Node(); !proto.Equal(got, &corev3.Node{}) {
		t.Errorf("without a node: %v", got)
	}
}

const complete = `{
	"xds_servers": [
		{"server_uri": "a.example:1", "channel_creds": [{"type": "tls"}], "server_features": ["xds_v3"]},
		{"server_uri": "b.example:1", "channel_creds": [{"type": "insecure"}]}
	],
	"node": {"id": "n", "metadata": {"k": 1}},
	"authorities": {
		"west": {"client_listener_resource_name_template": "xdstp://west/envoy.config.listener.v3.Listener/w/%s"},
		"east": {"xds_servers": [{"server_uri": "e.example:1", "channel_creds": [{"type": "insecure"}], "call_creds": [{"type": "jwt_token_file", "config": {"jwt_token_file": "/t"}}]}]}
	},
	"client_default_listener_resource_name_template": "xdstp://west/envoy.config.listener.v3.Listener/%s",
	"server_listener_resource_name_template": "server/%s",
	"certificate_providers": {"p": {"plugin_name": "file_watcher", "config": {"certificate_file": "/c"}}}
}`

func TestConfig(t *testing.T) {
	c := mustParse(t, complete)
	if got := uris(c.Servers()); !slices.Equal(got, []string{"a.example:1", "b.example:1"}) {
		t.Errorf("Servers() = %q", got)
	}
	if got := c.Authorities(); !slices.Equal(got, []string{"east", "west"}) {
		t.Errorf("Authorities() = %q", got)
	}
	for name, want := range map[string]Authority{
		"east": {Name: "east", ClientListenerTemplate: "xdstp://east/envoy.config.listener.v3.Listener/%s"},
		"west": {Name: "west", ClientListenerTemplate: "xdstp://west/envoy.config.listener.v3.Listener/w/%s"},
	} {
		a, ok := c.Authority(name)
		if !ok || a.Name != want.Name || a.ClientListenerTemplate != want.ClientListenerTemplate {
			t.Errorf("Authority(%q) = %+v, %v", name, a, ok)
		}
	}
	if a, ok := c.Authority("north"); ok || a != nil {
		t.Errorf("Authority(north) = %v", a)
	}
	providers := c.CertificateProviders()
	if p := providers["p"]; len(providers) != 1 || p.PluginName != "file_watcher" || string(p.Config) != `{"certificate_file": "/c"}` {
		t.Errorf("CertificateProviders() = %v", providers)
	}
	if want := `servers [a.example:1 (tls; xds_v3) b.example:1 (insecure)], authorities ["east" "west"], federation true`; c.String() != want {
		t.Errorf("String() = %s, want %s", c, want)
	}
}

func TestConfigIsImmutable(t *testing.T) {
	c := mustParse(t, complete)
	c.Servers()[0] = nil
	west, _ := c.Authority("west")
	west.Name, west.Servers[0] = "x", nil
	providers := c.CertificateProviders()
	providers["p"].Config[0] = 'x'
	clear(providers)
	if c.Servers()[0] == nil || c.CertificateProviders()["p"].Config[0] != '{' {
		t.Error("the configuration has changed")
	}
	if west, _ = c.Authority("west"); west.Name != "west" || west.Servers[0] == nil {
		t.Error("the authority has changed")
	}
}

func TestHasServer(t *testing.T) {
	c := mustParse(t, complete)
	for entry, want := range map[string]bool{
		`{"server_uri": "a.example:1", "channel_creds": [{"type": "tls"}], "server_features": ["xds_v3"]}`:                                                       true,
		`{"server_uri": "dns:///a.example:1", "channel_creds": [{"type": "tls", "config": {}}], "server_features": ["x", "xds_v3"]}`:                             true,
		`{"server_uri": "e.example:1", "channel_creds": [{"type": "insecure"}], "call_creds": [{"type": "jwt_token_file", "config": {"jwt_token_file": "/t"}}]}`: true,
		`{"server_uri": "e.example:1", "channel_creds": [{"type": "insecure"}]}`:                                                                                 false,
		`{"server_uri": "a.example:1", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/evil"}}], "server_features": ["xds_v3"]}`:           false,
		`{"server_uri": "a.example:1", "channel_creds": [{"type": "tls"}]}`:                                                                                      false,
		`{"server_uri": "evil.example:1", "channel_creds": [{"type": "google_default"}]}`:                                                                        false,
	} {
		if got := c.HasServer(mustServer(t, entry)); got != want {
			t.Errorf("HasServer(%s) = %v", entry, got)
		}
	}
	if c.HasServer(nil) {
		t.Error("HasServer(nil)")
	}
}

func TestNew(t *testing.T) {
	var spec Spec
	if err := json.Unmarshal([]byte(complete), &spec); err != nil {
		t.Fatal(err)
	}
	fromGo, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*Config{"New": fromGo, "a marshalled Spec": mustParse(t, string(file))} {
		want := mustParse(t, complete)
		if c.String() != want.String() || !proto.Equal(c.Node(), want.Node()) || !maps.Equal(c.keys, want.keys) ||
			c.clientTemplate != want.clientTemplate || c.serverTemplate != want.serverTemplate || len(c.providers) != 1 {
			t.Errorf("%s: %v, want %v\n%s", what, c, want, file)
		}
	}
	spec.Node.Id, spec.Servers[0].URI, spec.Authorities["east"].Servers[0].URI = "x", "x", "x"
	spec.CertificateProviders["p"].Config[0] = 'x'
	if s := fromGo.String(); strings.Contains(s, "x (") || fromGo.Node().GetId() != "n" || fromGo.CertificateProviders()["p"].Config[0] != '{' {
		t.Errorf("the configuration changed with the Spec: %s", s)
	}
}

// TestWithoutFederation expects files and Specs to ignore the fields of gRFC A47.
func TestWithoutFederation(t *testing.T) {
	var spec Spec
	if err := json.Unmarshal([]byte(complete), &spec); err != nil {
		t.Fatal(err)
	}
	fromGo, err := New(spec, WithFederation(false))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*Config{"New": fromGo, "Parse": mustParse(t, complete, WithFederation(false))} {
		if list := c.Authorities(); len(list) != 0 {
			t.Errorf("%s: authorities = %q; want none", what, list)
		}
		if n, err := c.ClientListenerName("xds:///s"); err != nil || n.String() != "s" {
			t.Errorf("%s: the Listener of xds:///s is %q, %v; want the target's path", what, n, err)
		}
	}
}

// Each authority says whether reachability alone decides about its fallback (A95).
func TestFallbackOnReachabilityOnly(t *testing.T) {
	const text = `{"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}], "authorities": {"a": {"fallback_on_reachability_only": %s}, "b": {}}}`
	for value, want := range map[string]bool{"true": true, "false": false, "null": false} {
		c := mustParse(t, fmt.Sprintf(text, value))
		a, _ := c.Authority("a")
		b, _ := c.Authority("b")
		if a.FallbackOnReachabilityOnly != want || b.FallbackOnReachabilityOnly {
			t.Errorf("%s: authority a has %t, and b has %t", value, a.FallbackOnReachabilityOnly, b.FallbackOnReachabilityOnly)
		}
	}
	_, err := Parse(fmt.Appendf(nil, text, "1"))
	if got, want := messages(err), `bootstrap: authorities["a"].fallback_on_reachability_only = a number; must be a boolean`; !slices.Equal(got, []string{want}) {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestNewIsAsStrict(t *testing.T) {
	_, err := New(Spec{
		Servers: []ServerSpec{{URI: "u", ChannelCreds: []CredsSpec{{Type: "tls", Config: []byte("{")}}}},
		Authorities: map[string]AuthoritySpec{"a": {
			ClientListenerTemplate: "x",
			Servers:                []ServerSpec{{URI: "u", ChannelCreds: []CredsSpec{{Type: "tls", Config: []byte("\"\xff\"")}}}},
		}},
		CertificateProviders: map[string]CertificateProvider{"p": {PluginName: "q", Config: []byte("1")}},
	})
	want := []string{
		`bootstrap: xds_servers[0].channel_creds[0].config = no JSON; must be an object`,
		`bootstrap: authorities["a"].xds_servers[0].channel_creds[0].config = no JSON; must be an object`,
		`bootstrap: authorities["a"].client_listener_resource_name_template = "x"; must start with xdstp://a/`,
		`bootstrap: certificate_providers["p"].config = a number; must be an object`,
	}
	if got := messages(err); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if c, err := New(Spec{Authorities: map[string]AuthoritySpec{"a": {}}}, WithFederation(false)); err == nil {
		t.Errorf("New without servers = %v", c)
	}
	off, err := New(Spec{
		Servers:                       []ServerSpec{{URI: "u", ChannelCreds: []CredsSpec{{Type: "insecure"}}}},
		Authorities:                   map[string]AuthoritySpec{"a": {ClientListenerTemplate: "x"}},
		ClientDefaultListenerTemplate: "xdstp:",
	}, WithFederation(false))
	if err != nil || len(off.Authorities()) != 0 || off.clientTemplate != "%s" {
		t.Errorf("New without federation = %v, %v", off, err)
	}
	var spec Spec
	if err := json.Unmarshal([]byte(`{"xds_servers": 1, "node": 2}`), &spec); len(messages(err)) != 2 {
		t.Errorf("json.Unmarshal: %v", err)
	}
}
