package rbac

import (
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// readPermissions decodes a list that must not be empty.
func readPermissions(dc *resource.DecodeContext, p *resource.Path, field string, list []*rbacpolicyv3.Permission, v *resource.Violations) []rule {
	return readList(dc, p, field, list, v, readPermission)
}

func readPermission(dc *resource.DecodeContext, p *resource.Path, m *rbacpolicyv3.Permission, v *resource.Violations) rule {
	switch r := m.GetRule().(type) {
	case *rbacpolicyv3.Permission_AndRules:
		q := p.Field("and_rules")
		return and(readPermissions(dc, &q, "rules", r.AndRules.GetRules(), v))
	case *rbacpolicyv3.Permission_OrRules:
		q := p.Field("or_rules")
		return or(readPermissions(dc, &q, "rules", r.OrRules.GetRules(), v))
	case *rbacpolicyv3.Permission_NotRule:
		q := p.Field("not_rule")
		return not{readPermission(dc, &q, r.NotRule, v)}
	case *rbacpolicyv3.Permission_Any:
		return constant(true)
	case *rbacpolicyv3.Permission_Header:
		return readHeader(dc, p.Field("header"), r.Header, v)
	case *rbacpolicyv3.Permission_UrlPath:
		return methodPath{readText(dc, p.Field("url_path.path"), r.UrlPath.GetPath(), v)}
	case *rbacpolicyv3.Permission_DestinationIp:
		return localAddress{readPrefix(p.Field("destination_ip"), r.DestinationIp, v)}
	case *rbacpolicyv3.Permission_DestinationPort:
		return localPort(r.DestinationPort)
	case *rbacpolicyv3.Permission_RequestedServerName:
		return serverName{readText(dc, p.Field("requested_server_name"), r.RequestedServerName, v)}
	case *rbacpolicyv3.Permission_Metadata: // gRPC never has any
		return constant(r.Metadata.GetInvert()) //nolint:staticcheck // control planes still send it
	case *rbacpolicyv3.Permission_SourcedMetadata:
		return constant(r.SourcedMetadata.GetMetadataMatcher().GetInvert())
	default:
		v.Add(p.Field("rule"), nil, "must be one that gRPC supports (A41)")
		return constant(false)
	}
}
