package standard_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// largeRoutes has 5,000 routes, each with its own regular expression.
func largeRoutes() proto.Message {
	h := &routev3.VirtualHost{Name: "v", Domains: []string{"*"}}
	for i := range 5000 {
		h.Routes = append(h.Routes, &routev3.Route{
			Name: fmt.Sprint("route ", i),
			Match: &routev3.RouteMatch{
				PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: fmt.Sprintf("/service%d/[a-zA-Z0-9_]+/(get|put|list|delete)/?", i)}},
				Headers: []*routev3.HeaderMatcher{{Name: "x-version", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
					StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "1"}},
				}}},
			},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: fmt.Sprint("cluster ", i)}}},
		})
	}
	return &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{h}}
}

// largeEndpoints has 100,000 endpoints in 100 localities, with metadata.
func largeEndpoints(t *testing.T) proto.Message {
	t.Helper()
	metadata, err := structpb.NewStruct(map[string]any{"workload": "service-v1;namespace;service;v1;Kubernetes"})
	if err != nil {
		t.Fatal(err)
	}
	m := &endpointv3.ClusterLoadAssignment{ClusterName: "e"}
	for i := range 100 {
		l := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Zone: fmt.Sprint("zone ", i)}, LoadBalancingWeight: wrapperspb.UInt32(1)}
		for k := range 1000 {
			l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address: fmt.Sprintf("10.%d.%d.%d", i, k/250, k%250), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8080},
				}}}}},
			})
			l.LbEndpoints[k].Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"istio": metadata}}
		}
		m.Endpoints = append(m.Endpoints, l)
	}
	return m
}

// largeListener has 1,000 filter chains.
func largeListener(t *testing.T) proto.Message {
	t.Helper()
	manager := packed(t, &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: "r", ConfigSource: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, &routerv3.Router{})}}},
	})
	m := &listenerv3.Listener{Name: "l", Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "0.0.0.0", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 1},
	}}}}
	for i := range 1000 {
		m.FilterChains = append(m.FilterChains, &listenerv3.FilterChain{
			FilterChainMatch: &listenerv3.FilterChainMatch{SourcePrefixRanges: []*corev3.CidrRange{
				{AddressPrefix: fmt.Sprintf("10.%d.%d.0", i/250, i%250), PrefixLen: wrapperspb.UInt32(24)},
			}},
			Filters: []*listenerv3.Filter{{Name: "m", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager}}},
		})
	}
	return m
}

// listenerWithFilters has 1,000 optional filters without a configuration and a router.
func listenerWithFilters(t *testing.T) proto.Message {
	t.Helper()
	manager := &hcmv3.HttpConnectionManager{RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
		RouteConfigName: "r", ConfigSource: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
	}}}
	for i := range 1000 {
		manager.HttpFilters = append(manager.HttpFilters, &hcmv3.HttpFilter{Name: fmt.Sprint(i), IsOptional: true})
	}
	manager.HttpFilters = append(manager.HttpFilters, &hcmv3.HttpFilter{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, &routerv3.Router{})}})
	return &listenerv3.Listener{Name: "l", ApiListener: &listenerv3.ApiListener{ApiListener: packed(t, manager)}}
}

// routesWithHashPolicies has 1,000 routes, each with a hash policy that rewrites a header.
func routesWithHashPolicies() proto.Message {
	h := &routev3.VirtualHost{Name: "v", Domains: []string{"*"}}
	for i := range 1000 {
		header := &routev3.RouteAction_HashPolicy_Header{HeaderName: "h", RegexRewrite: &matcherv3.RegexMatchAndSubstitute{
			Pattern: &matcherv3.RegexMatcher{Regex: fmt.Sprintf("user-%d-([a-z0-9]{8})[^/]*", i)}, Substitution: `\1`,
		}}
		h.Routes = append(h.Routes, &routev3.Route{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "c"},
				HashPolicy:       []*routev3.RouteAction_HashPolicy{{PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: header}}},
			}},
		})
	}
	return &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{h}}
}

// listenerWithRules has an RBAC filter with 3,000 regular expressions.
func listenerWithRules(t *testing.T) proto.Message {
	t.Helper()
	regex := func(format string, i int) *matcherv3.StringMatcher {
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: fmt.Sprintf(format, i)}}}
	}
	policy := new(rbacconfigv3.Policy)
	for i := range 1000 {
		policy.Permissions = append(policy.Permissions, &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_UrlPath{
			UrlPath: &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: regex("/service%d/(get|put|list|delete)", i)}},
		}})
		header := &routev3.HeaderMatcher{Name: "h", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: regex("version-%d-.*", i)}}
		policy.Principals = append(policy.Principals, &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_Header{Header: header}},
			&rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_Authenticated_{
				Authenticated: &rbacconfigv3.Principal_Authenticated{PrincipalName: regex("spiffe://trust/ns%d/sa/.*", i)},
			}})
	}
	rules := &rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{Policies: map[string]*rbacconfigv3.Policy{"p": policy}}}
	manager := &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: "r", ConfigSource: &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: new(corev3.AggregatedConfigSource)}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{
			{Name: "rbac", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, rules)}},
			{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, new(routerv3.Router))}},
		},
	}
	return &listenerv3.Listener{
		Name: "l",
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 1},
		}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{
			{Name: "m", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(t, manager)}},
		}}},
	}
}

// Large valid configurations fit in the default limits. Tight limits reject them.
func TestLargeConfigurationsAreWithinLimits(t *testing.T) {
	roomy := resource.Limits{}.WithDefaults()
	roomy.ResourceSize, roomy.ResourceRegexps = roomy.ResourceSize*7/8, roomy.ResourceRegexps/2
	for _, test := range []struct {
		message proto.Message
		tight   resource.Limits
		says    string
	}{
		{largeRoutes(), resource.Limits{ResourceSize: 1 << 20}, "virtual_hosts[0].routes = 5000 elements of"},
		{largeRoutes(), resource.Limits{ResourceRegexps: 100_000}, "ResourceRegexps"},
		{routesWithHashPolicies(), resource.Limits{ResourceRegexps: 50_000}, "ResourceRegexps"},
		{listenerWithRules(t), resource.Limits{ResourceRegexps: 100_000}, "ResourceRegexps"},
		{largeEndpoints(t), resource.Limits{ResourceSize: 8 << 20}, "ResourceSize"},
		{largeListener(t), resource.Limits{ResourceSize: 200 << 10}, "filter_chains = 1000 elements of"},
		{listenerWithFilters(t), resource.Limits{ResourceSize: int64(1001*unsafe.Sizeof(listener.HTTPFilter{})) - 1}, "http_filters = 1001 elements of"},
	} {
		set := types(t) // a new set: compiled expressions are shared
		body, err := proto.Marshal(test.message)
		if err != nil {
			t.Fatal(err)
		}
		typ, _ := set.Lookup(string(test.message.ProtoReflect().Descriptor().FullName()))
		decode := func(l resource.Limits) error {
			s, err := typ.PeekName(body)
			if err != nil {
				t.Fatal(err)
			}
			name, err := xdstp.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			dc := &resource.DecodeContext{Name: name, Types: set, Budget: new(wire.Budget)}
			set.Start(dc.Budget, l, nil)
			_, err = typ.Decode(dc, body)
			return err
		}
		if err := decode(test.tight.WithDefaults()); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s with tight limits: error = %v, want it to contain %q", typ.ShortName(), err, test.says)
		}
		if err := decode(roomy); err != nil {
			t.Errorf("%s: %v", typ.ShortName(), err)
		}
	}
}
