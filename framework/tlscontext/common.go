package tlscontext

import (
	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A side is the side of a connection whose TLS is read.
type side bool

const (
	client side = false
	server side = true
)

// common holds the content of a CommonTlsContext.
type common struct {
	identity    Instance
	roots       Instance
	systemRoots bool
	sans        []matcher.String
	validation  bool // there is a validation context
}

// readCommon reads a CommonTlsContext (A29, "CommonTlsContext Processing").
func readCommon(dc *resource.DecodeContext, p resource.Path, m *commonView, s side, v *resource.Violations) common {
	var c common
	if !m.set {
		v.Add(p, nil, "must be set (A29)")
		return c
	}
	if m.params {
		v.Add(p.Field("tls_params"), nil, "must not be set (A29)")
	}
	if m.handshaker {
		v.Add(p.Field("custom_handshaker"), nil, "must not be set (A29)")
	}
	if m.selector {
		v.Add(p.Field("custom_tls_certificate_selector"), nil, "must not be set (ADR 330)")
	}
	c.identity = identity(dc, p, m, v)
	c.readValidation(dc, p, m, s, v)
	return c
}

// identity returns the certificate to present. The deprecated field, which predates
// tls_certificate_provider_instance, has the same meaning.
func identity(dc *resource.DecodeContext, p resource.Path, m *commonView, v *resource.Violations) Instance {
	switch {
	case m.provider.set:
		return instance(dc, p.Field("tls_certificate_provider_instance"), m.provider, v)
	case m.older.set:
		return instance(dc, p.Field("tls_certificate_certificate_provider_instance"), m.older, v)
	}
	if m.certificates {
		v.Add(p.Field("tls_certificates"), nil, "must not be set without tls_certificate_provider_instance (A29)")
	}
	if m.sds {
		v.Add(p.Field("tls_certificate_sds_secret_configs"), nil, "must not be set without tls_certificate_provider_instance (A29)")
	}
	return Instance{}
}

func instance(dc *resource.DecodeContext, p resource.Path, m instanceView, v *resource.Violations) Instance {
	if err := dc.CertificateProvider(m.Provider); err != nil {
		v.Add(p.Field("instance_name"), m.Provider, err.Error())
	}
	return m.Instance
}

// readValidation reads the rules for verifying the peer.
func (c *common) readValidation(dc *resource.DecodeContext, p resource.Path, m *commonView, s side, v *resource.Violations) {
	switch m.member {
	case 0:
	case validationContext:
		c.readContext(dc, p.Field("validation_context"), &m.validation, instanceView{}, s, v)
	case combinedContext:
		q := p.Field("combined_validation_context")
		c.readContext(dc, q.Field("default_validation_context"), &m.combined, m.combinedOlder, s, v)
	case validationInstance:
		c.validation = true
		c.roots = instance(dc, p.Field("validation_context_certificate_provider_instance"), m.instance, v)
	default:
		v.Add(p.Field("validation_context_type"), nil, "must be validation_context or combined_validation_context (A29)")
	}
}

// readContext reads a CertificateValidationContext. The argument older is the field that named the
// roots in older versions of the message.
func (c *common) readContext(dc *resource.DecodeContext, p resource.Path, m *validationView, older instanceView, s side, v *resource.Violations) {
	c.validation = true
	switch {
	case m.provider.set:
		c.roots = instance(dc, p.Field("ca_certificate_provider_instance"), m.provider, v)
	case older.set:
		c.roots = instance(dc, p.Field("validation_context_certificate_provider_instance"), older, v)
	case s == client && m.systemRoots:
		c.systemRoots = true
	case s == client:
		v.Add(p, nil, "must have ca_certificate_provider_instance or system_root_certs set (A29, A82)")
	default:
		v.Add(p.Field("ca_certificate_provider_instance"), nil, "must be set (A29)")
	}
	rejectUnsupported(p, m, v)
	if s == server && len(m.sans) > 0 {
		v.Add(p.Field("match_subject_alt_names"), nil, "must not be set for a server (A29)")
		return
	}
	sans, err := matcher.NewStrings(dc, "match_subject_alt_names", m.sans)
	if err != nil {
		v.AddError(p, err)
	}
	c.sans = sans
}

// rejectUnsupported rejects unsupported fields that would make the connection less secure if they
// were ignored.
func rejectUnsupported(p resource.Path, m *validationView, v *resource.Violations) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"verify_certificate_spki", m.spki},
		{"verify_certificate_hash", m.hash},
		{"require_signed_certificate_timestamp", m.sct},
		{"match_typed_subject_alt_names", m.typedSANs},
		{"crl", m.crl},
		{"custom_validator_config", m.custom},
	} {
		if f.set {
			v.Add(p.Field(f.name), nil, "must not be set (A29)")
		}
	}
	if d := m.depth; d.set && d.value < defaultDepth {
		v.Add(p.Field("max_verify_depth"), d.value, "must be at least 100, which is the default; lower limits are not enforced (ADR 330)")
	}
}

// defaultDepth is Envoy's default limit of certificates between the leaf and the root. Chains of that length do not occur, so
// that a lack of a limit has the same effect.
const defaultDepth = 100
