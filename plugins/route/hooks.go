package route

import (
	"regexp"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// validateProfile checks the message's own rules in profile Envoy.
func validateProfile(_ *resource.DecodeContext, p resource.Path, m *routev3.RouteConfiguration, v *resource.Violations) {
	v.AddMessage(p, m)
}

// pathRegex compiles the regular expression of a path matcher.
func pathRegex(dc *resource.DecodeContext, regex string) (*regexp.Regexp, error) {
	re, err := matcher.Compile(dc, regex)
	if err != nil {
		var v resource.Violations
		v.Add(resource.Path{}, regex, err.Error())
		return nil, v.Err()
	}
	return re, nil
}

// fraction returns the share of calls that a route takes, per million. It uses the default
// value, because gRPC has no runtime keys (A28).
func fraction(_ *resource.DecodeContext, m *corev3.RuntimeFractionalPercent) (*uint32, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // the route is for all calls
	}
	var v resource.Violations
	n := convert.PerMillion((*resource.Path)(nil).Field("default_value"), m.GetDefaultValue(), &v)
	return &n, v.Err()
}

// ignorePort returns the setting in profile HTTP, and otherwise false.
func ignorePort(dc *resource.DecodeContext, ignore bool) (bool, error) { //nolint:unparam // the type of a hook
	return ignore && dc.Types.Profile() == resource.HTTP, nil
}

// Field numbers of oneof members.
const (
	actionRoute                     = 2  // Route.action
	specifierCluster                = 1  // RouteAction.cluster_specifier
	specifierClusterHeader          = 2  // the same
	specifierWeightedClusters       = 3  // the same
	specifierClusterSpecifierPlugin = 37 // the same
)

// ignored returns the reason for which gRPC ignores a route, regardless of its other fields
// (A28). Profile HTTP supports query parameters and cluster headers, and rejects other routes, because their requests would
// take the next route (ADR 330). finishSpecifiers handles routes to optional specifier plugins.
func ignored(dc *resource.DecodeContext, parameters []*routev3.QueryParameterMatcher, action, specifier int32) (string, error) {
	http := dc.Types.Profile() == resource.HTTP
	if len(parameters) > 0 && !http {
		return "it matches query parameters, which gRPC calls do not have (A28)", nil
	}
	if action != actionRoute {
		return "", nil
	}
	switch specifier {
	case specifierCluster, specifierWeightedClusters, specifierClusterSpecifierPlugin:
		return "", nil
	}
	switch {
	case http && specifier == specifierClusterHeader:
		return "", nil
	case http:
		var v resource.Violations
		v.Add((*resource.Path)(nil).Field("route.cluster_specifier"), nil, "must be cluster, weighted_clusters, cluster_header or cluster_specifier_plugin")
		return "", v.Err()
	}
	return "it finds its cluster in a way that gRPC has not (A28)", nil
}

// totalWeight returns the sum of the clusters' weights. A rule checks that it fits a
// uint32. If the control plane sets a total, it must equal the sum (A28).
func totalWeight(dc *resource.DecodeContext, clusters []WeightedCluster, total *wrapperspb.UInt32Value) (uint32, error) {
	var sum uint64
	for i := range clusters {
		sum += uint64(clusters[i].Weight)
	}
	var v resource.Violations
	if total != nil && uint64(total.GetValue()) != sum && dc.Types.Profile() != resource.Envoy {
		v.Add((*resource.Path)(nil).Field("total_weight"), total.GetValue(), "must be the sum of the clusters' weights (A28)")
	}
	return uint32(sum), v.Err()
}

// trustedServer is the bootstrap's server feature that lets a server rewrite authorities (A81).
const trustedServer = "trusted_xds_server"

// hostRewrite returns the route's authority if the server is trusted, and else "" (A111).
func hostRewrite(dc *resource.DecodeContext, authority string) (string, error) { //nolint:unparam // the type of a hook
	if dc.Server == nil || !dc.Server.HasFeature(trustedServer) {
		return "", nil
	}
	return authority, nil
}

// autoHostRewrite returns the route's setting if the server is trusted, and else false
// (A81).
func autoHostRewrite(dc *resource.DecodeContext, rewrite bool) (bool, error) { //nolint:unparam // the type of a hook
	return rewrite && dc.Server != nil && dc.Server.HasFeature(trustedServer), nil
}
