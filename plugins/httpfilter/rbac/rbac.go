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
	// Rules are what is enforced; nil: nothing is, be it that there are no rules or
	// that their action is LOG. They are valid, and must not be changed.
	Rules *rbacpolicyv3.RBAC
}

// Equal reports whether both enforce the same.
func (c Config) Equal(o Config) bool { return proto.Equal(c.Rules, o.Rules) }

// Filter is the RBAC filter. Shadow rules are not supported, and ignored.
func Filter() *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.rbac.v3.RBAC",
		Override: "envoy.extensions.filters.http.rbac.v3.RBACPerRoute",
		Sides:    resource.ServerSide,
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(rbacv3.RBAC)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			return read((*resource.Path)(nil).Field("rules"), m.GetRules())
		},
		ParseOverride: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(rbacv3.RBACPerRoute)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			return read((*resource.Path)(nil).Field("rbac.rules"), m.GetRbac().GetRules())
		},
	}
}

func read(p resource.Path, m *rbacpolicyv3.RBAC) (Config, error) {
	if m == nil || m.GetAction() == rbacpolicyv3.RBAC_LOG {
		return Config{}, nil
	}
	var v resource.Violations
	if a := m.GetAction(); a != rbacpolicyv3.RBAC_ALLOW && a != rbacpolicyv3.RBAC_DENY {
		v.Add(p.Field("action"), a, "must be one of ALLOW, DENY, LOG (A41)")
	}
	for _, name := range slices.Sorted(maps.Keys(m.GetPolicies())) {
		q := p.Field("policies[" + name + "]")
		policy := m.GetPolicies()[name]
		if policy.GetCondition() != nil {
			v.Add(q.Field("condition"), nil, "must not be set (A41)")
		}
		if policy.GetCheckedCondition() != nil {
			v.Add(q.Field("checked_condition"), nil, "must not be set (A41)")
		}
		checkPermissions(&q, "permissions", policy.GetPermissions(), &v)
		checkPrincipals(&q, "principals", policy.GetPrincipals(), &v)
	}
	return Config{Rules: m}, v.Err()
}
