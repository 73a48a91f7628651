package rbac

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/matcher"
)

// checkPermissions checks a list that must not be empty.
func checkPermissions(p *resource.Path, field string, list []*rbacpolicyv3.Permission, v *resource.Violations) {
	if len(list) == 0 {
		v.Add(p.Field(field), nil, "must not be empty (A41)")
	}
	for i, m := range list {
		q := p.Item(field, i)
		checkPermission(&q, m, v)
	}
}

func checkPermission(p *resource.Path, m *rbacpolicyv3.Permission, v *resource.Violations) {
	switch r := m.GetRule().(type) {
	case *rbacpolicyv3.Permission_AndRules:
		q := p.Field("and_rules")
		checkPermissions(&q, "rules", r.AndRules.GetRules(), v)
	case *rbacpolicyv3.Permission_OrRules:
		q := p.Field("or_rules")
		checkPermissions(&q, "rules", r.OrRules.GetRules(), v)
	case *rbacpolicyv3.Permission_NotRule:
		q := p.Field("not_rule")
		checkPermission(&q, r.NotRule, v)
	case *rbacpolicyv3.Permission_Header:
		checkHeader(p.Field("header"), r.Header, v)
	case *rbacpolicyv3.Permission_UrlPath:
		checkText(p.Field("url_path.path"), r.UrlPath.GetPath(), v)
	case *rbacpolicyv3.Permission_DestinationIp:
		checkPrefix(p.Field("destination_ip"), r.DestinationIp, v)
	case *rbacpolicyv3.Permission_RequestedServerName:
		checkText(p.Field("requested_server_name"), r.RequestedServerName, v)
	case *rbacpolicyv3.Permission_Any, *rbacpolicyv3.Permission_DestinationPort,
		*rbacpolicyv3.Permission_Metadata, *rbacpolicyv3.Permission_SourcedMetadata:
	default:
		v.Add(p.Field("rule"), nil, "must be one that gRPC supports (A41)")
	}
}

// checkPrincipals checks a list that must not be empty.
func checkPrincipals(p *resource.Path, field string, list []*rbacpolicyv3.Principal, v *resource.Violations) {
	if len(list) == 0 {
		v.Add(p.Field(field), nil, "must not be empty (A41)")
	}
	for i, m := range list {
		q := p.Item(field, i)
		checkPrincipal(&q, m, v)
	}
}

func checkPrincipal(p *resource.Path, m *rbacpolicyv3.Principal, v *resource.Violations) {
	switch i := m.GetIdentifier().(type) {
	case *rbacpolicyv3.Principal_AndIds:
		q := p.Field("and_ids")
		checkPrincipals(&q, "ids", i.AndIds.GetIds(), v)
	case *rbacpolicyv3.Principal_OrIds:
		q := p.Field("or_ids")
		checkPrincipals(&q, "ids", i.OrIds.GetIds(), v)
	case *rbacpolicyv3.Principal_NotId:
		q := p.Field("not_id")
		checkPrincipal(&q, i.NotId, v)
	case *rbacpolicyv3.Principal_Authenticated_:
		if name := i.Authenticated.GetPrincipalName(); name != nil {
			checkText(p.Field("authenticated.principal_name"), name, v)
		}
	case *rbacpolicyv3.Principal_SourceIp:
		checkPrefix(p.Field("source_ip"), i.SourceIp, v) //nolint:staticcheck // what A41 speaks of
	case *rbacpolicyv3.Principal_DirectRemoteIp:
		checkPrefix(p.Field("direct_remote_ip"), i.DirectRemoteIp, v)
	case *rbacpolicyv3.Principal_RemoteIp:
		checkPrefix(p.Field("remote_ip"), i.RemoteIp, v)
	case *rbacpolicyv3.Principal_Header:
		checkHeader(p.Field("header"), i.Header, v)
	case *rbacpolicyv3.Principal_UrlPath:
		checkText(p.Field("url_path.path"), i.UrlPath.GetPath(), v)
	case *rbacpolicyv3.Principal_Any, *rbacpolicyv3.Principal_Metadata, *rbacpolicyv3.Principal_SourcedMetadata:
	default:
		v.Add(p.Field("identifier"), nil, "must be one that gRPC supports (A41)")
	}
}

func checkHeader(p resource.Path, m *routev3.HeaderMatcher, v *resource.Violations) {
	h, err := matcher.NewHeader(m)
	if err != nil {
		v.AddError(p, err)
		return
	}
	if h.Name == ":scheme" || strings.HasPrefix(h.Name, "grpc-") {
		v.Add(p.Field("name"), h.Name, "must not be :scheme or start with grpc- (A41)")
	}
}

func checkText(p resource.Path, m *matcherv3.StringMatcher, v *resource.Violations) {
	if _, err := matcher.NewString(m); err != nil {
		v.AddError(p, err)
	}
}

func checkPrefix(p resource.Path, m *corev3.CidrRange, v *resource.Violations) {
	if _, err := matcher.NewPrefix(m); err != nil {
		v.AddError(p, err)
	}
}
