package rbac

import (
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// readPrincipals decodes a list that must not be empty.
func readPrincipals(dc *resource.DecodeContext, p *resource.Path, field string, list []*rbacpolicyv3.Principal, v *resource.Violations) []rule {
	return readList(dc, p, field, list, v, readPrincipal)
}

func readPrincipal(dc *resource.DecodeContext, p *resource.Path, m *rbacpolicyv3.Principal, v *resource.Violations) rule {
	switch i := m.GetIdentifier().(type) {
	case *rbacpolicyv3.Principal_AndIds:
		q := p.Field("and_ids")
		return and(readPrincipals(dc, &q, "ids", i.AndIds.GetIds(), v))
	case *rbacpolicyv3.Principal_OrIds:
		q := p.Field("or_ids")
		return or(readPrincipals(dc, &q, "ids", i.OrIds.GetIds(), v))
	case *rbacpolicyv3.Principal_NotId:
		q := p.Field("not_id")
		return not{readPrincipal(dc, &q, i.NotId, v)}
	case *rbacpolicyv3.Principal_Any:
		return constant(true)
	case *rbacpolicyv3.Principal_Authenticated_:
		name := i.Authenticated.GetPrincipalName()
		if name == nil {
			return authenticated{}
		}
		text := readText(dc, p.Field("authenticated.principal_name"), name, v)
		return authenticated{&text}
	case *rbacpolicyv3.Principal_SourceIp:
		return remoteAddress{readPrefix(p.Field("source_ip"), i.SourceIp, v)} //nolint:staticcheck // what A41 speaks of
	case *rbacpolicyv3.Principal_DirectRemoteIp:
		return remoteAddress{readPrefix(p.Field("direct_remote_ip"), i.DirectRemoteIp, v)}
	case *rbacpolicyv3.Principal_RemoteIp:
		return clientAddress{readPrefix(p.Field("remote_ip"), i.RemoteIp, v)}
	case *rbacpolicyv3.Principal_Header:
		return readHeader(dc, p.Field("header"), i.Header, v)
	case *rbacpolicyv3.Principal_UrlPath:
		return methodPath{readText(dc, p.Field("url_path.path"), i.UrlPath.GetPath(), v)}
	case *rbacpolicyv3.Principal_Metadata: // gRPC never has any
		return constant(i.Metadata.GetInvert()) //nolint:staticcheck // control planes still send it
	case *rbacpolicyv3.Principal_SourcedMetadata:
		return constant(i.SourcedMetadata.GetMetadataMatcher().GetInvert())
	default:
		v.Add(p.Field("identifier"), nil, "must be one that gRPC supports (A41)")
		return constant(false)
	}
}
