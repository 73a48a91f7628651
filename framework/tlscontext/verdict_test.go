package tlscontext

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3" // the cases name it
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// withProvider returns a context whose bootstrap has the certificate provider instance "i".
func withProvider(t *testing.T) *resource.DecodeContext {
	t.Helper()
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}],
		"certificate_providers": {"i": {"plugin_name": "p", "config": {}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	types, err := resource.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	if types, err = types.Extend(resource.GRPC, &resource.CertificateProvider{Plugin: "p"}); err != nil {
		t.Fatal(err)
	}
	return &resource.DecodeContext{Bootstrap: config, Types: types}
}

func socket(t *testing.T, text string) []byte {
	t.Helper()
	m := new(corev3.TransportSocket)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Parts of the cases: identities and roots of the instance "i", and of one that is missing in the
// bootstrap.
const (
	shows    = `tls_certificate_provider_instance { instance_name: "i" certificate_name: "c" } `
	verifies = `validation_context { ca_certificate_provider_instance { instance_name: "i" certificate_name: "r" } } `
	noneSuch = `must be one of the bootstrap's certificate_providers (A29)`
)

var (
	identity1 = Instance{"i", "c"}
	roots1    = Instance{"i", "r"}
)

// A verdictCase is a CommonTlsContext with its verdicts for a client and for a server. A verdict is
// the rule of a violation. An empty one means that the context is valid.
type verdictCase struct {
	common         string
	ofClient       Client
	clientRule     string
	ofServer       Server
	serverRule     string
	client, server string // other fields of the outer message
}

func TestVerdicts(t *testing.T) {
	dc := withProvider(t)
	both := func(common, rule string) verdictCase {
		return verdictCase{common: common, clientRule: rule, serverRule: rule}
	}
	for _, tt := range []verdictCase{
		{
			common:   shows + verifies,
			ofClient: Client{Identity: identity1, Roots: roots1}, ofServer: Server{Identity: identity1, Roots: roots1},
		},
		{
			common: shows + verifies, client: `sni: "s" auto_host_sni: true auto_sni_san_validation: true`, server: `require_client_certificate { value: true }`,
			ofClient: Client{Identity: identity1, Roots: roots1, SNI: "s", AutoHostSNI: true, AutoSNISANValidation: true},
			ofServer: Server{Identity: identity1, Roots: roots1, RequireClientCertificate: true},
		},
		{common: shows, clientRule: `validation_context_type; must be set (A29)`, ofServer: Server{Identity: identity1}},
		{common: verifies, ofClient: Client{Roots: roots1}, serverRule: `tls_certificate_provider_instance; must be set (A29)`},
		{
			common:   shows + `validation_context { system_root_certs {} }`,
			ofClient: Client{Identity: identity1, SystemRoots: true}, serverRule: `validation_context.ca_certificate_provider_instance; must be set (A29)`,
		},
		{
			common: shows + `validation_context {}`, clientRule: `validation_context; must have ca_certificate_provider_instance or system_root_certs set (A29, A82)`,
			serverRule: `validation_context.ca_certificate_provider_instance; must be set (A29)`,
		},
		{
			common:     shows + `validation_context { ca_certificate_provider_instance { instance_name: "i" certificate_name: "r" } match_subject_alt_names { exact: "a" } }`,
			ofClient:   Client{Identity: identity1, Roots: roots1, SANs: []matcher.String{{Kind: matcher.Exact, Text: "a"}}},
			serverRule: `match_subject_alt_names; must not be set for a server (A29)`,
		},
		{
			common:     shows + `validation_context { ca_certificate_provider_instance { instance_name: "i" certificate_name: "r" } match_subject_alt_names {} }`,
			clientRule: `match_subject_alt_names[0].match_pattern; must have`, serverRule: `match_subject_alt_names; must not be set for a server (A29)`,
		},
		{ // roots in the deprecated fields
			common:   `tls_certificate_certificate_provider_instance { instance_name: "i" certificate_name: "c" } combined_validation_context { default_validation_context {} validation_context_certificate_provider_instance { instance_name: "i" certificate_name: "r" } }`,
			ofClient: Client{Identity: identity1, Roots: roots1}, ofServer: Server{Identity: identity1, Roots: roots1},
		},
		{
			common:   shows + `validation_context_certificate_provider_instance { instance_name: "i" certificate_name: "r" }`,
			ofClient: Client{Identity: identity1, Roots: roots1}, ofServer: Server{Identity: identity1, Roots: roots1},
		},
		{ // the newer place counts
			common:   shows + `tls_certificate_certificate_provider_instance { instance_name: "x" } tls_certificates {} combined_validation_context { default_validation_context { ca_certificate_provider_instance { instance_name: "i" certificate_name: "r" } } validation_context_certificate_provider_instance { instance_name: "x" } }`,
			ofClient: Client{Identity: identity1, Roots: roots1}, ofServer: Server{Identity: identity1, Roots: roots1},
		},
		both(`tls_certificate_provider_instance { instance_name: "x" } `+verifies, `tls_certificate_provider_instance.instance_name = "x"; `+noneSuch),
		both(`tls_certificate_certificate_provider_instance { instance_name: "x" } `+verifies, `tls_certificate_certificate_provider_instance.instance_name = "x"; `+noneSuch),
		both(shows+`validation_context { ca_certificate_provider_instance { instance_name: "x" } }`, `validation_context.ca_certificate_provider_instance.instance_name = "x"; `+noneSuch),
		both(shows+`validation_context_certificate_provider_instance { instance_name: "x" }`, `validation_context_certificate_provider_instance.instance_name = "x"; `+noneSuch),
		both(shows+`combined_validation_context { validation_context_certificate_provider_instance { instance_name: "x" } }`, `combined_validation_context.default_validation_context.validation_context_certificate_provider_instance.instance_name = "x"; `+noneSuch),
		both(shows+verifies+`tls_params {}`, `tls_params; must not be set (A29)`),
		both(shows+verifies+`custom_handshaker {}`, `custom_handshaker; must not be set (A29)`),
		both(verifies+`tls_certificates {}`, `tls_certificates; must not be set without tls_certificate_provider_instance (A29)`),
		both(verifies+`tls_certificate_sds_secret_configs {}`, `tls_certificate_sds_secret_configs; must not be set without tls_certificate_provider_instance (A29)`),
		both(shows+`validation_context_sds_secret_config {}`, `validation_context_type; must be validation_context or combined_validation_context (A29)`),
		both(shows+`validation_context { verify_certificate_spki: "x" }`, `verify_certificate_spki; must not be set (A29)`),
		both(shows+`validation_context { verify_certificate_hash: "x" }`, `verify_certificate_hash; must not be set (A29)`),
		both(shows+`validation_context { require_signed_certificate_timestamp { value: true } }`, `require_signed_certificate_timestamp; must not be set (A29)`),
		both(shows+`validation_context { match_typed_subject_alt_names {} }`, `match_typed_subject_alt_names; must not be set (A29)`),
		both(shows+`validation_context { crl {} }`, `crl; must not be set (A29)`),
		both(shows+`validation_context { custom_validator_config {} }`, `custom_validator_config; must not be set (A29)`),
		{common: shows + verifies, client: `sni: "` + strings.Repeat("a", 255) + `"`, ofClient: Client{Identity: identity1, Roots: roots1, SNI: strings.Repeat("a", 255)}, server: `require_sni { value: true }`, serverRule: `require_sni = true; must not be set (A29)`},
		{common: shows + verifies, client: `sni: "` + strings.Repeat("a", 256) + `"`, clientRule: `must be at most 255 bytes long (A101)`, server: `ocsp_staple_policy: MUST_STAPLE`, serverRule: `ocsp_staple_policy = MUST_STAPLE; must be LENIENT_STAPLING (A29)`},
		{
			common: shows, clientRule: `validation_context_type; must be set (A29)`,
			server: `require_client_certificate { value: true }`, serverRule: `require_client_certificate = true; must not be set without a validation context (A29)`,
		},
	} {
		const tls = `typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.`
		plain := tls + `UpstreamTlsContext] { common_tls_context { ` + tt.common + ` } ` + tt.client + ` } }`
		got, err := ForClient(dc, socket(t, plain))
		checkVerdict(t, plain, got, err, &tt.ofClient, "typed_config.common_tls_context", tt.clientRule)

		proxied := `typed_config { [type.googleapis.com/` + http11Proxy + `] { transport_socket { name: "tls" ` + plain + ` } } }`
		got, err = ForClient(dc, socket(t, proxied))
		checkVerdict(t, proxied, got, err, &tt.ofClient, "typed_config.transport_socket.typed_config", tt.clientRule)

		downstream := tls + `DownstreamTlsContext] { common_tls_context { ` + tt.common + ` } ` + tt.server + ` } }`
		server, err := ForServer(dc, socket(t, named+downstream))
		checkVerdict(t, downstream, server, err, &tt.ofServer, "typed_config.", tt.serverRule)
	}
}

// named is the name that A29 requires of a server's transport socket.
const named = `name: "envoy.transport_sockets.tls" `

func checkVerdict(t *testing.T, text string, got any, err error, want any, path, rule string) {
	t.Helper()
	switch {
	case rule == "" && err == nil:
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis read as %+v, want %+v", text, got, want)
		}
	case rule == "":
		t.Errorf("%s: %v", text, err)
	case err == nil || !strings.Contains(err.Error(), rule):
		t.Errorf("%s: %v\nwant %q in it", text, err, rule)
	case !strings.Contains(err.Error(), path) && !strings.Contains(rule, "A101"):
		t.Errorf("%s: %v\nwant the path %s", text, err, path)
	}
}

func TestSockets(t *testing.T) {
	dc := withProvider(t)
	if c, err := ForClient(dc, nil); c != nil || err != nil {
		t.Errorf("a client without a socket has %+v, %v", c, err)
	}
	if s, err := ForServer(dc, nil); s != nil || err != nil {
		t.Errorf("a server without a socket has %+v, %v", s, err)
	}
	const proxy = `typed_config { [type.googleapis.com/` + http11Proxy + `] {`
	const upstream = `typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {`
	if c, err := ForClient(dc, socket(t, proxy+`} }`)); c != nil || err != nil {
		t.Errorf("a proxy without a socket in it has %+v, %v", c, err)
	}
	for text, want := range map[string]string{
		`name: "tls"`:    "typed_config",
		upstream + `} }`: "typed_config.common_tls_context; must be set (A29)",
		proxy + `transport_socket { name: "x" } } }`:                       "typed_config.transport_socket.typed_config",
		proxy + `transport_socket { ` + proxy + `} } } } }`:                "typed_config.transport_socket.typed_config.type_url = ",
		`typed_config { type_url: "x/y.Z" }`:                               `typed_config.type_url = "y.Z"; must be envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext (A29)`,
		`typed_config { type_url: "x/` + http11Proxy + `" value: "\xff" }`: "typed_config",
	} {
		if c, err := ForClient(dc, socket(t, text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, c, err, want)
		}
	}
	for text, want := range map[string]string{
		`name: "tls"`:            `name = "tls"; must be envoy.transport_sockets.tls (A29)`,
		named:                    "typed_config",
		named + upstream + `} }`: "typed_config.type_url = ",
		named + `typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] {} }`: "typed_config.common_tls_context; must be set (A29)",
	} {
		if s, err := ForServer(dc, socket(t, text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, s, err, want)
		}
	}
	const malformed = `name: "envoy.transport_sockets.tls" typed_config { type_url: "x/envoy.extensions.transport_sockets.tls.v3.%s" value: "\xff" }`
	if _, err := ForClient(dc, socket(t, fmt.Sprintf(malformed, "UpstreamTlsContext"))); err == nil || !strings.HasPrefix(err.Error(), "typed_config; not a ") {
		t.Errorf("a malformed context of a client: %v", err)
	}
	if _, err := ForServer(dc, socket(t, fmt.Sprintf(malformed, "DownstreamTlsContext"))); err == nil || !strings.HasPrefix(err.Error(), "typed_config; not a ") {
		t.Errorf("a malformed context of a server: %v", err)
	}
	if m := Message(dc, socket(t, proxy+`} }`)); !UsesProxy(m) || UsesProxy("x") {
		t.Errorf("the socket of a proxy has the message %q", m)
	}
	if m := Message(dc, socket(t, `name: "x"`)); m != "" {
		t.Errorf("a socket without a configuration has the message %q", m)
	}
}
