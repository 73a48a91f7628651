package tlscontext

import (
	"bytes"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// of returns the parts of a CommonTlsContext that a view has, by its getters.
func of(m *tlsv3.CommonTlsContext) commonView {
	out := commonView{
		set: m != nil, params: m.GetTlsParams() != nil, handshaker: m.GetCustomHandshaker() != nil,
		selector:     m.GetCustomTlsCertificateSelector() != nil,
		certificates: len(m.GetTlsCertificates()) > 0, sds: len(m.GetTlsCertificateSdsSecretConfigs()) > 0,
	}
	if i := m.GetTlsCertificateProviderInstance(); i != nil {
		out.provider = instanceView{true, Instance{i.GetInstanceName(), i.GetCertificateName()}}
	}
	out.older = older(m.GetTlsCertificateCertificateProviderInstance()) //nolint:staticcheck // control planes still send it
	switch t := m.GetValidationContextType().(type) {
	case *tlsv3.CommonTlsContext_ValidationContext:
		out.member, out.validation = validationContext, ofValidation(t.ValidationContext)
	case *tlsv3.CommonTlsContext_CombinedValidationContext:
		out.member, out.combined = combinedContext, ofValidation(t.CombinedValidationContext.GetDefaultValidationContext())
		out.combinedOlder = older(t.CombinedValidationContext.GetValidationContextCertificateProviderInstance()) //nolint:staticcheck // see above
	case *tlsv3.CommonTlsContext_ValidationContextCertificateProviderInstance:
		out.member, out.instance = validationInstance, older(t.ValidationContextCertificateProviderInstance) //nolint:staticcheck // see above
	case *tlsv3.CommonTlsContext_ValidationContextCertificateProvider:
		out.member = validationProvider
	case *tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig:
		out.member = sdsSecret
	}
	return out
}

func older(i *tlsv3.CommonTlsContext_CertificateProviderInstance) instanceView {
	if i == nil {
		return instanceView{}
	}
	return instanceView{true, Instance{i.GetInstanceName(), i.GetCertificateName()}}
}

func ofValidation(m *tlsv3.CertificateValidationContext) validationView {
	out := validationView{
		systemRoots: m.GetSystemRootCerts() != nil, sct: m.GetRequireSignedCertificateTimestamp().GetValue(),
		spki: len(m.GetVerifyCertificateSpki()) > 0, hash: len(m.GetVerifyCertificateHash()) > 0,
		typedSANs: len(m.GetMatchTypedSubjectAltNames()) > 0, crl: m.GetCrl() != nil, custom: m.GetCustomValidatorConfig() != nil,
	}
	if d := m.GetMaxVerifyDepth(); d != nil {
		out.depth = depthView{true, d.GetValue()}
	}
	for _, san := range m.GetMatchSubjectAltNames() { //nolint:staticcheck // what A29 speaks of
		out.sans = append(out.sans, matcher.PartsOfString(san))
	}
	if i := m.GetCaCertificateProviderInstance(); i != nil {
		out.provider = instanceView{true, Instance{i.GetInstanceName(), i.GetCertificateName()}}
	}
	return out
}

// contexts are CommonTlsContexts that set every field that a view reads.
func contexts(f *testing.F) (out [][]byte) {
	for _, text := range []string{
		``, `tls_params {}`, `custom_handshaker {}`, `custom_tls_certificate_selector {}`, `tls_certificates {} tls_certificates {}`, `tls_certificate_sds_secret_configs {}`,
		`tls_certificate_provider_instance { instance_name: "i" certificate_name: "c" }`, `tls_certificate_provider_instance {}`,
		`tls_certificate_certificate_provider_instance { instance_name: "o" }`, `tls_certificate_certificate_provider {} alpn_protocols: "h2"`,
		`validation_context { ca_certificate_provider_instance { instance_name: "r" } match_subject_alt_names { exact: "a" } match_subject_alt_names { prefix: "b" ignore_case: true } }`,
		`validation_context { match_subject_alt_names { safe_regex { regex: "r" } } match_subject_alt_names { contains: "c" } match_subject_alt_names { custom { name: "n" } } match_subject_alt_names {} }`,
		`validation_context { system_root_certs {} trusted_ca { filename: "f" } crl {} custom_validator_config {} match_typed_subject_alt_names {} }`,
		`validation_context { verify_certificate_spki: "" verify_certificate_hash: "" require_signed_certificate_timestamp { value: true } }`,
		`validation_context { max_verify_depth {} }`, `validation_context { max_verify_depth { value: 7 } }`,
		`validation_context { verify_certificate_hash: "h" require_signed_certificate_timestamp {} }`,
		`validation_context_sds_secret_config {}`, `validation_context_certificate_provider {}`, `validation_context_certificate_provider_instance { certificate_name: "x" }`,
		`combined_validation_context { default_validation_context { system_root_certs {} match_subject_alt_names { suffix: "s" } } }`,
		`combined_validation_context { validation_context_certificate_provider_instance { instance_name: "p" } validation_context_sds_secret_config {} }`,
	} {
		m := new(tlsv3.CommonTlsContext)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			f.Fatal(err)
		}
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// A view has the content of the message, however its parts are spread over the bytes.
func FuzzCommon(f *testing.F) {
	all := contexts(f)
	for _, a := range all {
		for _, b := range all {
			f.Add(bytes.Join([][]byte{a, b, a}, nil))
			f.Add(append(bytes.Clone(a), b...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(tlsv3.CommonTlsContext)
		if proto.Unmarshal(b, m) != nil {
			return // a view does not have this field
		}
		var got commonView
		r := wire.Read(b)
		got.parse(&r)
		if !r.OK() {
			t.Fatalf("%x cannot be read", b)
		}
		exported := cmp.AllowUnexported(commonView{}, instanceView{}, validationView{}, depthView{}, matcher.StringParts{})
		if diff := cmp.Diff(of(m), got, exported); diff != "" {
			t.Fatalf("%x (-message +view):\n%s", b, diff)
		}
	})
}

// The views of client and server contexts read their own fields.
func TestContexts(t *testing.T) {
	common := &tlsv3.CommonTlsContext{TlsParams: &tlsv3.TlsParameters{}}
	up, err := proto.Marshal(&tlsv3.UpstreamTlsContext{CommonTlsContext: common, Sni: "s", AutoHostSni: true, AutoSniSanValidation: true})
	if err != nil {
		t.Fatal(err)
	}
	var c clientView
	r := wire.Read(up)
	c.parse(&r)
	if !r.OK() || !c.common.params || c.sni != "s" || !c.autoSNI || !c.autoSAN {
		t.Errorf("client: %+v", c)
	}
	text := `common_tls_context {} require_client_certificate { value: true } require_sni { value: true } ocsp_staple_policy: MUST_STAPLE`
	m := new(tlsv3.DownstreamTlsContext)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	down, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var s serverView
	r = wire.Read(down)
	s.parse(&r)
	if !r.OK() || !s.common.set || !s.requireClient || !s.requireSNI || s.ocspStaplePolicy() != tlsv3.DownstreamTlsContext_MUST_STAPLE {
		t.Errorf("server: %+v", s)
	}
}

// A missing transport socket means no TLS. An empty one is an error.
func TestNothing(t *testing.T) {
	if c, err := ForClient(nil, nil); c != nil || err != nil {
		t.Errorf("no socket: %v, %v", c, err)
	}
	_, err := ForClient(nil, []byte{})
	if err == nil || err.Error() != "typed_config; must be set" {
		t.Errorf("an empty socket: %v", err)
	}
	b, err := proto.Marshal(&corev3.TransportSocket{Name: "n"})
	if err != nil || Message(nil, b) != "" || UsesProxy(Message(nil, b)) {
		t.Errorf("without a configuration: %q, %v", Message(nil, b), err)
	}
}
