package tlscontext

import (
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/matcher"
)

// A side is whose TLS is read.
type side bool

const (
	client side = false
	server side = true
)

// common is what a CommonTlsContext says.
type common struct {
	identity    Instance
	roots       Instance
	systemRoots bool
	sans        []matcher.String
	validation  *tlsv3.CertificateValidationContext // nil: there is none
}

// readCommon reads a CommonTlsContext (A29, "CommonTlsContext Processing").
func readCommon(dc *resource.DecodeContext, p resource.Path, m *tlsv3.CommonTlsContext, s side, v *resource.Violations) common {
	var c common
	if m == nil {
		v.Add(p, nil, "must be set (A29)")
		return c
	}
	if m.GetTlsParams() != nil {
		v.Add(p.Field("tls_params"), nil, "must not be set (A29)")
	}
	if m.GetCustomHandshaker() != nil {
		v.Add(p.Field("custom_handshaker"), nil, "must not be set (A29)")
	}
	c.identity = identity(dc, p, m, v)
	c.readValidation(dc, p, m, s, v)
	return c
}

// identity is the certificate to show. The deprecated field, from before
// tls_certificate_provider_instance, means the same.
func identity(dc *resource.DecodeContext, p resource.Path, m *tlsv3.CommonTlsContext, v *resource.Violations) Instance {
	if i := m.GetTlsCertificateProviderInstance(); i != nil {
		return instance(dc, p.Field("tls_certificate_provider_instance"), i, v)
	}
	if i := m.GetTlsCertificateCertificateProviderInstance(); i != nil { //nolint:staticcheck // control planes still send it
		return instance(dc, p.Field("tls_certificate_certificate_provider_instance"), i, v)
	}
	if len(m.GetTlsCertificates()) > 0 {
		v.Add(p.Field("tls_certificates"), nil, "must not be set without tls_certificate_provider_instance (A29)")
	}
	if len(m.GetTlsCertificateSdsSecretConfigs()) > 0 {
		v.Add(p.Field("tls_certificate_sds_secret_configs"), nil, "must not be set without tls_certificate_provider_instance (A29)")
	}
	return Instance{}
}

// An instanceMessage is either message that names a provider instance.
type instanceMessage interface {
	GetInstanceName() string
	GetCertificateName() string
}

func instance(dc *resource.DecodeContext, p resource.Path, m instanceMessage, v *resource.Violations) Instance {
	if err := dc.CertificateProvider(m.GetInstanceName()); err != nil {
		v.Add(p.Field("instance_name"), m.GetInstanceName(), err.Error())
	}
	return Instance{Provider: m.GetInstanceName(), Certificate: m.GetCertificateName()}
}

// readValidation finds out how the other side is verified.
func (c *common) readValidation(dc *resource.DecodeContext, p resource.Path, m *tlsv3.CommonTlsContext, s side, v *resource.Violations) {
	switch t := m.GetValidationContextType().(type) {
	case nil:
	case *tlsv3.CommonTlsContext_ValidationContext:
		c.readContext(dc, p.Field("validation_context"), t.ValidationContext, nil, s, v)
	case *tlsv3.CommonTlsContext_CombinedValidationContext:
		q := p.Field("combined_validation_context")
		older := t.CombinedValidationContext.GetValidationContextCertificateProviderInstance() //nolint:staticcheck // control planes still send it
		c.readContext(dc, q.Field("default_validation_context"), t.CombinedValidationContext.GetDefaultValidationContext(), older, s, v)
	case *tlsv3.CommonTlsContext_ValidationContextCertificateProviderInstance:
		c.validation = new(tlsv3.CertificateValidationContext)
		c.roots = instance(dc, p.Field("validation_context_certificate_provider_instance"), t.ValidationContextCertificateProviderInstance, v) //nolint:staticcheck // control planes still send it
	default:
		v.Add(p.Field("validation_context_type"), nil, "must be validation_context or combined_validation_context (A29)")
	}
}

// readContext reads a CertificateValidationContext. older is where the roots were
// named before it had a field for them.
func (c *common) readContext(dc *resource.DecodeContext, p resource.Path, m *tlsv3.CertificateValidationContext, older *tlsv3.CommonTlsContext_CertificateProviderInstance, s side, v *resource.Violations) {
	c.validation = m
	if m == nil {
		c.validation = new(tlsv3.CertificateValidationContext)
	}
	switch {
	case m.GetCaCertificateProviderInstance() != nil:
		c.roots = instance(dc, p.Field("ca_certificate_provider_instance"), m.GetCaCertificateProviderInstance(), v)
	case older != nil:
		c.roots = instance(dc, p.Field("validation_context_certificate_provider_instance"), older, v)
	case s == client && m.GetSystemRootCerts() != nil:
		c.systemRoots = true
	case s == client:
		v.Add(p, nil, "must have ca_certificate_provider_instance or system_root_certs set (A29, A82)")
	default:
		v.Add(p.Field("ca_certificate_provider_instance"), nil, "must be set (A29)")
	}
	rejectUnsupported(p, m, v)
	if s == server && len(m.GetMatchSubjectAltNames()) > 0 { //nolint:staticcheck // what A29 speaks of
		v.Add(p.Field("match_subject_alt_names"), nil, "must not be set for a server (A29)")
		return
	}
	sans, err := matcher.NewStrings("match_subject_alt_names", m.GetMatchSubjectAltNames()) //nolint:staticcheck // what A29 speaks of
	if err != nil {
		v.AddError(p, err)
	}
	c.sans = sans
}

// rejectUnsupported rejects what is not supported and cannot be ignored without
// being less secure than the control plane wants.
func rejectUnsupported(p resource.Path, m *tlsv3.CertificateValidationContext, v *resource.Violations) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"verify_certificate_spki", len(m.GetVerifyCertificateSpki()) > 0},
		{"verify_certificate_hash", len(m.GetVerifyCertificateHash()) > 0},
		{"require_signed_certificate_timestamp", m.GetRequireSignedCertificateTimestamp().GetValue()},
		{"match_typed_subject_alt_names", len(m.GetMatchTypedSubjectAltNames()) > 0},
		{"crl", m.GetCrl() != nil},
		{"custom_validator_config", m.GetCustomValidatorConfig() != nil},
	} {
		if f.set {
			v.Add(p.Field(f.name), nil, "must not be set (A29)")
		}
	}
}
