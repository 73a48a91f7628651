package rbac_test

import (
	"encoding/base64"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// naive decides about calls by walking the message, as slowly as A41 is written.
type naive struct{ call *httpfilter.ServerCall }

func (n naive) allows(m *rbacpolicyv3.RBAC) bool {
	matched := false
	for _, p := range m.GetPolicies() {
		permitted, principal := false, false
		for _, x := range p.GetPermissions() {
			permitted = permitted || n.permission(x)
		}
		for _, x := range p.GetPrincipals() {
			principal = principal || n.principal(x)
		}
		matched = matched || permitted && principal
	}
	return matched == (m.GetAction() == rbacpolicyv3.RBAC_ALLOW)
}

func (n naive) permission(m *rbacpolicyv3.Permission) bool {
	switch {
	case m.GetAndRules() != nil:
		for _, x := range m.GetAndRules().GetRules() {
			if !n.permission(x) {
				return false
			}
		}
		return true
	case m.GetOrRules() != nil:
		return slices.ContainsFunc(m.GetOrRules().GetRules(), n.permission)
	case m.GetNotRule() != nil:
		return !n.permission(m.GetNotRule())
	case m.GetHeader() != nil:
		return n.header(m.GetHeader())
	case m.GetUrlPath() != nil:
		return text(m.GetUrlPath().GetPath(), n.call.Method)
	case m.GetDestinationIp() != nil:
		return within(m.GetDestinationIp(), n.call.Local)
	case m.GetRequestedServerName() != nil:
		return text(m.GetRequestedServerName(), "")
	case m.GetMetadata() != nil: //nolint:staticcheck // control planes still send it
		return false
	case m.GetAny():
		return true
	default:
		return uint32(n.call.Local.(*net.TCPAddr).Port) == m.GetDestinationPort()
	}
}

func (n naive) principal(m *rbacpolicyv3.Principal) bool {
	switch {
	case m.GetAndIds() != nil:
		for _, x := range m.GetAndIds().GetIds() {
			if !n.principal(x) {
				return false
			}
		}
		return true
	case m.GetOrIds() != nil:
		return slices.ContainsFunc(m.GetOrIds().GetIds(), n.principal)
	case m.GetNotId() != nil:
		return !n.principal(m.GetNotId())
	case m.GetAuthenticated() != nil:
		return n.authenticated(m.GetAuthenticated().GetPrincipalName())
	case m.GetSourceIp() != nil: //nolint:staticcheck // the field of A41
		return within(m.GetSourceIp(), n.call.Remote) //nolint:staticcheck // the field of A41
	case m.GetDirectRemoteIp() != nil:
		return within(m.GetDirectRemoteIp(), n.call.Remote)
	case m.GetRemoteIp() != nil:
		return within(m.GetRemoteIp(), n.call.Remote)
	case m.GetHeader() != nil:
		return n.header(m.GetHeader())
	case m.GetUrlPath() != nil:
		return text(m.GetUrlPath().GetPath(), n.call.Method)
	default:
		return m.GetAny()
	}
}

func (n naive) authenticated(m *matcherv3.StringMatcher) bool {
	info, ok := n.call.AuthInfo.(credentials.TLSInfo)
	if !ok || m == nil {
		return ok
	}
	if len(info.State.PeerCertificates) == 0 {
		return text(m, "")
	}
	leaf := info.State.PeerCertificates[0]
	for _, u := range leaf.URIs {
		if text(m, u.String()) {
			return true
		}
	}
	if len(leaf.URIs) > 0 {
		return false
	}
	for _, name := range leaf.DNSNames {
		if text(m, name) {
			return true
		}
	}
	return len(leaf.DNSNames) == 0 && text(m, leaf.Subject.String())
}

func (n naive) header(m *routev3.HeaderMatcher) bool {
	headers := map[string]string{":path": n.call.Method, ":method": "POST"}
	for name, values := range n.call.Metadata {
		if name == "te" {
			continue
		}
		if strings.HasSuffix(name, "-bin") {
			values = []string{base64.RawStdEncoding.EncodeToString([]byte(values[0]))}
		}
		headers[name] = strings.Join(values, ",")
	}
	headers["host"] = headers[":authority"]
	value, there := headers[strings.ToLower(m.GetName())]
	var matches bool
	switch s := m.GetHeaderMatchSpecifier().(type) {
	case *routev3.HeaderMatcher_PresentMatch:
		return (there == s.PresentMatch) == !m.GetInvertMatch()
	case *routev3.HeaderMatcher_RangeMatch:
		number, err := strconv.ParseInt(value, 10, 64)
		matches = err == nil && s.RangeMatch.GetStart() <= number && number < s.RangeMatch.GetEnd()
	case *routev3.HeaderMatcher_StringMatch:
		matches = text(s.StringMatch, value)
	}
	return (there || m.GetTreatMissingHeaderAsEmpty()) && matches != m.GetInvertMatch()
}

func text(m *matcherv3.StringMatcher, s string) bool {
	pattern := ""
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		pattern = regexp.QuoteMeta(p.Exact)
	case *matcherv3.StringMatcher_Prefix:
		pattern = regexp.QuoteMeta(p.Prefix) + "(?s:.*)"
	case *matcherv3.StringMatcher_Suffix:
		pattern = "(?s:.*)" + regexp.QuoteMeta(p.Suffix)
	case *matcherv3.StringMatcher_Contains:
		pattern = "(?s:.*)" + regexp.QuoteMeta(p.Contains) + "(?s:.*)"
	case *matcherv3.StringMatcher_SafeRegex:
		pattern = p.SafeRegex.GetRegex()
	}
	if m.GetIgnoreCase() && m.GetSafeRegex() == nil {
		pattern = "(?i:" + pattern + ")"
	}
	return regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString(s)
}

func within(m *corev3.CidrRange, a net.Addr) bool {
	_, network, err := net.ParseCIDR(m.GetAddressPrefix() + "/" + strconv.Itoa(int(m.GetPrefixLen().GetValue())))
	return err == nil && network.Contains(a.(*net.TCPAddr).IP)
}
