package route

import (
	"regexp"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/convert"
	"github.com/xdsforge/xdsforge/framework/resource/matcher"
)

// HeaderMatcher is what a header of a call must be.
type HeaderMatcher = matcher.Header

// validateProfile checks, for proxies that are not gRPC, the message's own rules.
func validateProfile(dc *resource.DecodeContext, p resource.Path, m *routev3.RouteConfiguration, v *resource.Violations) {
	if dc.Types.Profile() != resource.GRPC {
		resource.ValidateMessage(p, m, v)
	}
}

// validateGRPC checks what gRPC demands and other proxies do not.
func validateGRPC(dc *resource.DecodeContext, p resource.Path, m *routev3.Route, v *resource.Violations) {
	if dc.Types.Profile() != resource.GRPC {
		return
	}
	switch m.GetMatch().GetPathSpecifier().(type) {
	case nil, *routev3.RouteMatch_Prefix, *routev3.RouteMatch_Path, *routev3.RouteMatch_SafeRegex:
	default:
		v.Add(p.Field("match.path_specifier"), nil, "must be one of prefix, path, safe_regex (A28)")
	}
}

// pathRegex compiles the expression that a path must match.
func pathRegex(_ *resource.DecodeContext, m *matcherv3.RegexMatcher) (*regexp.Regexp, error) {
	re, err := matcher.Compile(m.GetRegex())
	if err != nil {
		var v resource.Violations
		v.Add((*resource.Path)(nil).Field("regex"), m.GetRegex(), err.Error())
		return nil, v.Err()
	}
	return re, nil
}

// headerMatchers makes the matchers of a route.
func headerMatchers(_ *resource.DecodeContext, list []*routev3.HeaderMatcher) ([]HeaderMatcher, error) {
	var v resource.Violations
	out := make([]HeaderMatcher, 0, len(list))
	for i, m := range list {
		h, err := matcher.NewHeader(m)
		if err != nil {
			v.AddError((*resource.Path)(nil).Item("", i), err)
			continue
		}
		out = append(out, h)
	}
	return out, v.Err()
}

// fraction is how many of a million calls a route is for; gRPC has no runtime that
// could say otherwise (A28).
func fraction(_ *resource.DecodeContext, m *corev3.RuntimeFractionalPercent) (*uint32, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // the route is for all calls
	}
	var v resource.Violations
	n := convert.PerMillion((*resource.Path)(nil).Field("default_value"), m.GetDefaultValue(), &v)
	return &n, v.Err()
}

// ignored says why gRPC passes over a route that is valid (A28). What an optional
// specifier plugin has to do with it is said by finishSpecifiers.
func ignored(_ *resource.DecodeContext, parameters []*routev3.QueryParameterMatcher, a *routev3.RouteAction) (string, error) { //nolint:unparam // the type of a hook
	if len(parameters) > 0 {
		return "it is for query parameters, which calls have not (A28)", nil
	}
	if a == nil {
		return "", nil
	}
	switch a.GetClusterSpecifier().(type) {
	case *routev3.RouteAction_Cluster, *routev3.RouteAction_WeightedClusters, *routev3.RouteAction_ClusterSpecifierPlugin:
		return "", nil
	default:
		return "it finds its cluster in a way that gRPC has not (A28)", nil
	}
}

// totalWeight is the sum of the clusters' weights; that it fits is a rule's business.
func totalWeight(_ *resource.DecodeContext, clusters []*routev3.WeightedCluster_ClusterWeight) (uint32, error) { //nolint:unparam // the type of a hook
	var sum uint32
	for _, c := range clusters {
		sum += c.GetWeight().GetValue()
	}
	return sum, nil
}

// validateTotal checks that the total, where the control plane says one, is the sum
// of the weights (A28).
func validateTotal(dc *resource.DecodeContext, p resource.Path, m *routev3.WeightedCluster, v *resource.Violations) {
	if dc.Types.Profile() != resource.GRPC {
		return
	}
	var sum uint64
	for _, c := range m.GetClusters() {
		sum += uint64(c.GetWeight().GetValue())
	}
	if t := m.GetTotalWeight(); t != nil && uint64(t.GetValue()) != sum { //nolint:staticcheck // control planes still send it
		v.Add(p.Field("total_weight"), t.GetValue(), "must be the sum of the clusters' weights (A28)")
	}
}

// autoHostRewrite is what the route says if the server may say it (A81).
func autoHostRewrite(dc *resource.DecodeContext, rewrite *wrapperspb.BoolValue) (bool, error) { //nolint:unparam // the type of a hook
	return rewrite.GetValue() && dc.Server != nil && dc.Server.HasFeature(bootstrap.FeatureTrustedXDSServer), nil
}
