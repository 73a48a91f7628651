package rbac

import (
	"maps"
	"slices"

	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Config is the configuration of the filter.
type Config struct {
	// Rules are the rules that Evaluate enforces. They are nil if the filter has no rules
	// or if their action is LOG. To read them, use the JSON of the update.
	Rules *ruleSet
	// Audit configures the audit loggers.
	Audit Audit

	names  *nameCache
	source *rbacpolicyv3.RBAC // the message of the rules
}

// Equal reports whether both enforce the same rules.
func (c Config) Equal(o Config) bool { return proto.Equal(c.source, o.source) }

// Filter returns the RBAC filter. It ignores shadow rules, which are not supported. The
// given audit loggers are available, and so is the standard output logger (A59).
func Filter(loggers ...AuditLogger) *resource.HTTPFilter {
	r := &reader{loggers: make(map[string]AuditLogger, len(loggers)+1), names: newNameCache()}
	for _, l := range append([]AuditLogger{stdoutLogger()}, loggers...) {
		r.loggers[l.Config] = l
	}
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.rbac.v3.RBAC",
		Override: "envoy.extensions.filters.http.rbac.v3.RBACPerRoute",
		Sides:    resource.ServerSide,
		Parse: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(rbacv3.RBAC)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			return r.read(dc, "", m)
		},
		ParseOverride: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(rbacv3.RBACPerRoute)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			return r.read(dc, "rbac.", m.GetRbac())
		},
	}
}

// A reader decodes rules. It finds audit loggers by their messages.
type reader struct {
	loggers map[string]AuditLogger
	names   *nameCache
}

// read decodes the rules of a filter, or of an override at a prefix. A matcher takes the place of rules in Envoy. To skip it
// would allow all calls (ADR 330).
func (r *reader) read(dc *resource.DecodeContext, prefix string, filter *rbacv3.RBAC) (Config, error) {
	var v resource.Violations
	if filter.GetMatcher() != nil {
		v.Add((*resource.Path)(nil).Field(prefix+"matcher"), nil, "must not be set; use rules")
	}
	p, m := (*resource.Path)(nil).Field(prefix+"rules"), filter.GetRules()
	if m == nil || m.GetAction() == rbacpolicyv3.RBAC_LOG {
		return Config{}, v.Err()
	}
	if a := m.GetAction(); a != rbacpolicyv3.RBAC_ALLOW && a != rbacpolicyv3.RBAC_DENY {
		v.Add(p.Field("action"), a, "must be one of ALLOW, DENY, LOG (A41)")
	}
	out := &ruleSet{
		Deny:     m.GetAction() == rbacpolicyv3.RBAC_DENY,
		Policies: make([]namedPolicy, 0, len(m.GetPolicies())),
	}
	audit := r.readAudit(dc, p.Field("audit_logging_options"), m.GetAuditLoggingOptions(), &v)
	for _, name := range slices.Sorted(maps.Keys(m.GetPolicies())) {
		q := p.Field("policies[" + name + "]")
		policy := m.GetPolicies()[name]
		if policy.GetCondition() != nil {
			v.Add(q.Field("condition"), nil, "must not be set (A41)")
		}
		if policy.GetCheckedCondition() != nil {
			v.Add(q.Field("checked_condition"), nil, "must not be set (A41)")
		}
		out.Policies = append(out.Policies, namedPolicy{
			Name:       name,
			Permission: or(readPermissions(dc, &q, "permissions", policy.GetPermissions(), &v)),
			Principal:  or(readPrincipals(dc, &q, "principals", policy.GetPrincipals(), &v)),
		})
	}
	return Config{Rules: out, Audit: audit, names: r.names, source: m}, v.Err()
}
