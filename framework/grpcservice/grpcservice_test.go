package grpcservice_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/call_credentials/google_iam/v3"        // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/google_default/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/insecure/v3"       // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/local/v3"          // for prototext
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/registry"
)

const config = `{
	"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "tls"}]}, {"server_uri": "b", "channel_creds": [{"type": "tls"}], "server_features": ["trusted_xds_server"]}],
	"certificate_providers": {"files": {"plugin_name": "file_watcher", "config": {"certificate_file": "c", "private_key_file": "k", "ca_certificate_file": "r"}}},
	"allowed_grpc_services": {"dns:///authz:1": {"channel_creds": [{"type": "tls"}], "call_creds": [{"type": "jwt_token_file", "config": {"jwt_token_file": "/t"}}]}}
}`

// contexts returns the contexts for resources of an untrusted and of a trusted server.
func contexts(t *testing.T) (untrusted, trusted *resource.DecodeContext) {
	t.Helper()
	c, err := bootstrap.Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	reg := registry.New()
	builtin.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return &resource.DecodeContext{Bootstrap: c, Server: c.Servers()[0], Types: types}, &resource.DecodeContext{Bootstrap: c, Server: c.Servers()[1], Types: types}
}

func read(t *testing.T, dc *resource.DecodeContext, text string) (*grpcservice.Service, error) {
	t.Helper()
	m := new(corev3.GrpcService)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var v resource.Violations
	known := func(scheme string) bool { return scheme == "dns" || scheme == "xds" }
	s := grpcservice.Read(dc, (*resource.Path)(nil).Field("s"), m, known, &v)
	return s, v.Err()
}

const (
	channels = "type.googleapis.com/envoy.extensions.grpc_service.channel_credentials."
	calls    = "type.googleapis.com/envoy.extensions.grpc_service.call_credentials."
	insecure = `[` + channels + `insecure.v3.InsecureCredentials] {}`
	google   = `[` + channels + `google_default.v3.GoogleDefaultCredentials] {}`
	local    = `[` + channels + `local.v3.LocalCredentials] {}`
	tls      = `[` + channels + `tls.v3.TlsCredentials] { %s }`
	xds      = `[` + channels + `xds.v3.XdsCredentials] { %s }`
	token    = `[` + calls + `access_token.v3.AccessTokenCredentials] { token: "secret" }`
)

// service returns a service with the target and the parts.
func service(target, inner, outer string) string {
	return fmt.Sprintf(`google_grpc { target_uri: %q %s } %s`, target, inner, outer)
}

func channel(creds ...string) string {
	out := ""
	for _, c := range creds {
		out += `channel_credentials_plugin { ` + c + ` } `
	}
	return out
}

// The credentials of an untrusted server's service are those of the bootstrap. The ones of the resource are ignored, even if
// they are invalid.
func TestUntrusted(t *testing.T) {
	dc, _ := contexts(t)
	for _, inner := range []string{"", channel(insecure), channel(fmt.Sprintf(tls, "")), `call_credentials_plugin { ` + token + ` }`} {
		s, err := read(t, dc, service("dns:///authz:1", inner, ""))
		if err != nil || s.Server.String() != "dns:///authz:1 (tls, jwt_token_file)" || s.TLS != nil || s.Token() != "" || s.Managed {
			t.Errorf("%s: %+v, %v; want the credentials of the bootstrap", inner, s, err)
		}
	}
	for _, target := range []string{"authz:1", "dns:///authz:2"} {
		if _, err := read(t, dc, service(target, channel(insecure), "")); err == nil || !strings.Contains(err.Error(), "s.google_grpc.target_uri = \""+target+"\"; must be one of the bootstrap's allowed_grpc_services") {
			t.Errorf("%s: %v; want an error that names the target", target, err)
		}
	}
	for _, dc := range []*resource.DecodeContext{{}, {Bootstrap: dc.Bootstrap}} {
		_, err := read(t, dc, service("dns:///authz:1", channel(insecure), ""))
		if (err == nil) != (dc.Bootstrap != nil) {
			t.Errorf("without a server, bootstrap %t: %v; want the bootstrap to decide", dc.Bootstrap != nil, err)
		}
	}
}

// The resource of a trusted server chooses the credentials: the first channel credentials and all call credentials that are
// supported.
func TestTrusted(t *testing.T) {
	_, dc := contexts(t)
	files := tlscontext.Instance{Provider: "files", Certificate: "x"}
	const root = `root_certificate_provider { instance_name: "files" certificate_name: "x" } `
	for _, tt := range []struct {
		inner, kind string
		tls         *tlscontext.Client
		managed     bool
		token       string
	}{
		{channel(insecure, google), "insecure", nil, false, ""},
		{channel(local, google, insecure), "google_default", nil, false, ""},
		{channel(fmt.Sprintf(tls, root)), "tls", &tlscontext.Client{Roots: files}, false, ""},
		{channel(fmt.Sprintf(tls, root+strings.ReplaceAll(root, "root", "identity"))), "tls", &tlscontext.Client{Roots: files, Identity: files}, false, ""},
		{channel(fmt.Sprintf(xds, `fallback_credentials { `+insecure+` }`)), "insecure", nil, true, ""},
		{channel(insecure) + `call_credentials_plugin { [` + calls + `google_iam.v3.GoogleIamCredentials] {} } call_credentials_plugin { ` + token + ` }`, "insecure", nil, false, "secret"},
	} {
		s, err := read(t, dc, service("dns:///any:1", tt.inner, ""))
		if err != nil {
			t.Errorf("%s: %v", tt.inner, err)
			continue
		}
		if got := s.Server.ChannelCreds().Type(); got != tt.kind || s.Managed != tt.managed || s.Token() != tt.token || s.String() != "dns:///any:1" {
			t.Errorf("%s: %s, managed %t, token %q; want %s, %t, %q", tt.inner, got, s.Managed, s.Token(), tt.kind, tt.managed, tt.token)
		}
		if (s.TLS == nil) != (tt.tls == nil) || s.TLS != nil && (s.TLS.Roots != tt.tls.Roots || s.TLS.Identity != tt.tls.Identity) {
			t.Errorf("%s: TLS %+v; want %+v", tt.inner, s.TLS, tt.tls)
		}
		if text, err := json.Marshal(s); err != nil || strings.Contains(string(text)+s.String(), "secret") {
			t.Errorf("%s: printed as %s, %v; want no token", tt.inner, text, err)
		}
	}
}

// Each invalid part is an error that names it.
func TestInvalid(t *testing.T) {
	_, dc := contexts(t)
	const q = "s.google_grpc."
	many := slices.Repeat([]string{local}, 101)
	for text, want := range map[string]string{
		``:                                 "s.google_grpc; must be set (A102)",
		`envoy_grpc { cluster_name: "c" }`: "s.google_grpc; must be set (A102)",
		service("", channel(insecure), ""): q + "target_uri = ; must be a gRPC target of 1 to 8192 bytes (A102)",
		service("nobody:///a", channel(insecure), ""):   q + "target_uri = nobody:///a; must have a scheme with a resolver (A102)",
		service("dns:///", channel(insecure), ""):       q + "target_uri = dns:///; must be a gRPC target with a name (A102)",
		service("dns:///\x01", channel(insecure), ""):   q + `target_uri = dns:///\x01; must be a gRPC target with a name (A102)`,
		service("a", "", ""):                            q + "channel_credentials_plugin = 0; must list a supported type: GoogleDefaultCredentials, InsecureCredentials, TlsCredentials or XdsCredentials (A102)",
		service("a", channel(local), ""):                q + "channel_credentials_plugin = 1; must list a supported type: GoogleDefaultCredentials, InsecureCredentials, TlsCredentials or XdsCredentials (A102)",
		service("a", channel(many...), ""):              q + "channel_credentials_plugin = 101; must have at most 100 entries",
		service("a", channel(fmt.Sprintf(tls, "")), ""): q + "channel_credentials_plugin[0].root_certificate_provider; must be set (A102)",
		service("a", channel(local, fmt.Sprintf(tls, `root_certificate_provider { instance_name: "x" }`), insecure), ""): q + "channel_credentials_plugin[1].root_certificate_provider.instance_name = x; must be one of the bootstrap's certificate_providers (A29)",
		service("a", channel(fmt.Sprintf(xds, "")), ""):                                                                  q + "channel_credentials_plugin[0].fallback_credentials; must be set (A102)",
		service("a", channel(fmt.Sprintf(xds, `fallback_credentials { `+local+` }`)), ""):                                q + "channel_credentials_plugin[0].fallback_credentials = " + channels + "local.v3.LocalCredentials; must be of a supported type (A102)",
		service("a", channel(fmt.Sprintf(xds, `fallback_credentials { `+fmt.Sprintf(xds, "")+` }`)), ""):                 q + "channel_credentials_plugin[0].fallback_credentials = envoy.extensions.grpc_service.channel_credentials.xds.v3.XdsCredentials; must not be the fallback of XdsCredentials",
		service("a", channel(insecure)+`call_credentials_plugin { `+strings.Replace(token, "secret", "", 1)+` }`, ""):    q + "call_credentials_plugin[0].token = 0; must be a token of 1 to 16384 printable ASCII characters (A102)",
		service("a", channel(insecure)+`call_credentials_plugin { `+strings.Replace(token, "secret", `a b`, 1)+` }`, ""): q + "call_credentials_plugin[0].token = 3; must be a token of 1 to 16384 printable ASCII characters (A102)",
		service("a", channel(insecure), `timeout {}`):                                                                    "s.timeout = 0s; must be a duration above 0s (A102)",
		service("a", channel(insecure), `initial_metadata { key: "Host" }`):                                              "s.initial_metadata[0].key = Host; must be the name of a gRPC header: lower-case letters, digits, and the characters _ . -",
		service("a", channel(insecure), strings.Repeat(`initial_metadata { key: "a" } `, 101)):                           "s.initial_metadata = 101; must have at most 100 entries",
	} {
		if _, err := read(t, dc, text); err == nil || strings.ReplaceAll(err.Error(), `"`, "") != want {
			t.Errorf("%.120s: %v\nwant %s", text, err, want)
		}
	}
	if _, err := read(t, dc, service("a", channel(insecure), `timeout { seconds: -1 nanos: 1 }`)); err == nil || !strings.Contains(err.Error(), "s.timeout") {
		t.Errorf("an invalid timeout: %v; want an error", err)
	}
	s, err := read(t, dc, service("localhost:80", channel(insecure), `timeout { nanos: 1000000 } initial_metadata { key: "a" value: "1" } initial_metadata { key: "a" raw_value: "2" }`))
	got := ""
	s.EachHeader(func(name, value string) { got += name + "=" + value + " " })
	if err != nil || s.Timeout != time.Millisecond || got != "a=1 a=2 " {
		t.Errorf("timeout %v, headers %s, %v; want 1ms and both values of a", s.Timeout, got, err)
	}
}
