package rbac

import (
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// Functions for the parts that permissions and principals share.

func readList[M any](
	dc *resource.DecodeContext, p *resource.Path, field string, list []M, v *resource.Violations,
	read func(*resource.DecodeContext, *resource.Path, M, *resource.Violations) rule,
) []rule {
	if len(list) == 0 {
		v.Add(p.Field(field), nil, "must not be empty (A41)")
	}
	out := make([]rule, 0, len(list))
	for i, m := range list {
		q := p.Item(field, i)
		out = append(out, read(dc, &q, m, v))
	}
	return out
}

func readHeader(dc *resource.DecodeContext, p resource.Path, m *routev3.HeaderMatcher, v *resource.Violations) rule {
	h, err := matcher.PartsOfHeader(m).Header(dc)
	if err != nil {
		v.AddError(p, err)
		return constant(false)
	}
	if h.Name == ":scheme" || strings.HasPrefix(h.Name, "grpc-") {
		v.Add(p.Field("name"), h.Name, "must not be :scheme or start with grpc- (A41)")
	}
	return headerRule{h}
}

func readText(dc *resource.DecodeContext, p resource.Path, m *matcherv3.StringMatcher, v *resource.Violations) matcher.String {
	s, err := matcher.PartsOfString(m).Matcher(dc)
	if err != nil {
		v.AddError(p, err)
	}
	return s
}

func readPrefix(p resource.Path, m *corev3.CidrRange, v *resource.Violations) netip.Prefix {
	prefix, err := matcher.NewPrefix(m)
	if err != nil {
		v.AddError(p, err)
	}
	return prefix
}
