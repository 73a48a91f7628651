package rbac

import (
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/audit_loggers/stream/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Audit configures the audit loggers and the decisions that they log (gRFC A59).
type Audit struct {
	OnAllow, OnDeny bool
	// Loggers are called in order. Optional unknown loggers are left out.
	Loggers []AuditConfig
}

// An AuditConfig is the configuration of one audit logger.
type AuditConfig struct {
	// Message is the full name of the configuration's message.
	Message string
	// Config is the result of the logger's Parse. It is nil for the standard output logger,
	// which is always available.
	Config any
}

// An AuditLogger registers a kind of audit logger (gRFC A59).
type AuditLogger struct {
	// Config is the full name of the message that configures the logger. A type that exists
	// only in TypedStructs is allowed.
	Config string
	// Parse decodes and validates a configuration.
	Parse func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error)
}

// stdoutMessage is the message that configures the standard output logger.
const stdoutMessage = "envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog"

func stdoutLogger() AuditLogger {
	return AuditLogger{
		Config: stdoutMessage,
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			return nil, c.Unmarshal(new(streamv3.StdoutAuditLog))
		},
	}
}

// readAudit decodes the audit settings. A logger that is neither known nor optional is an
// error.
func (r *reader) readAudit(dc *resource.DecodeContext, p resource.Path, m *rbacpolicyv3.RBAC_AuditLoggingOptions, v *resource.Violations) Audit {
	var out Audit
	switch m.GetAuditCondition() {
	case rbacpolicyv3.RBAC_AuditLoggingOptions_NONE:
	case rbacpolicyv3.RBAC_AuditLoggingOptions_ON_DENY:
		out.OnDeny = true
	case rbacpolicyv3.RBAC_AuditLoggingOptions_ON_ALLOW:
		out.OnAllow = true
	case rbacpolicyv3.RBAC_AuditLoggingOptions_ON_DENY_AND_ALLOW:
		out.OnDeny, out.OnAllow = true, true
	default:
		v.Add(p.Field("audit_condition"), m.GetAuditCondition(), "must be one of NONE, ON_DENY, ON_ALLOW, ON_DENY_AND_ALLOW (A59)")
	}
	for i, l := range m.GetLoggerConfigs() {
		item := p.Item("logger_configs", i)
		at := item.Field("audit_logger.typed_config")
		c, err := dc.OpenTypedConfig(l.GetAuditLogger().GetTypedConfig())
		if err != nil {
			v.AddError(at, err)
			continue
		}
		kind, known := r.loggers[c.Message]
		switch {
		case known:
			config, err := kind.Parse(dc, c)
			if err != nil {
				v.AddError(at, err)
			}
			out.Loggers = append(out.Loggers, AuditConfig{c.Message, config})
		case !l.GetIsOptional():
			v.Add(at, c.Message, "must be of an audit logger that is known, or optional (A59)")
		}
	}
	return out
}
