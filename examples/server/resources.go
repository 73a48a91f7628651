package main

import (
	"fmt"
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// routesName is what the Listener refers to.
const routesName = "xdstp://west.example/envoy.config.route.v3.RouteConfiguration/shop"

// messages are the types that the control planes serve.
var messages = []string{"envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration"}

// identity is how certificates say who has them.
func identity(who string) string { return "spiffe://shop.example/" + who }

// listenerResource has connections secured by mutual TLS, denies mallory, and takes the
// routes from elsewhere. The version makes it another one.
func listenerResource(name, addr, version string) (*listenerv3.Listener, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	var p packer
	socket := p.pack(&tlsv3.DownstreamTlsContext{
		RequireClientCertificate: wrapperspb.Bool(true),
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "files"},
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
				CaCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "files"},
			}},
		},
	})
	manager := p.pack(&hcmv3.HttpConnectionManager{
		StatPrefix: version,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: routesName,
			ConfigSource:    &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{
			{Name: "rbac", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: p.pack(deny("mallory"))}},
			{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: p.pack(new(routerv3.Router))}},
		},
	})
	return &listenerv3.Listener{
		Name: name,
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: at.Addr().String(), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(at.Port())},
		}}},
		FilterChains: []*listenerv3.FilterChain{{
			TransportSocket: &corev3.TransportSocket{
				Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: socket},
			},
			Filters: []*listenerv3.Filter{{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager}}},
		}},
	}, p.err
}

// deny is an RBAC filter that lets everybody pass but one.
func deny(who string) *rbacv3.RBAC {
	return &rbacv3.RBAC{Rules: &rbacpolicyv3.RBAC{
		Action: rbacpolicyv3.RBAC_DENY,
		Policies: map[string]*rbacpolicyv3.Policy{who: {
			Permissions: []*rbacpolicyv3.Permission{{Rule: &rbacpolicyv3.Permission_Any{Any: true}}},
			Principals: []*rbacpolicyv3.Principal{{Identifier: &rbacpolicyv3.Principal_Authenticated_{
				Authenticated: &rbacpolicyv3.Principal_Authenticated{PrincipalName: &matcherv3.StringMatcher{
					MatchPattern: &matcherv3.StringMatcher_Exact{Exact: identity(who)},
				}},
			}}},
		}},
	}}
}

// routesResource has the server take all calls.
func routesResource() *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: routesName, VirtualHosts: []*routev3.VirtualHost{{
		Name: "shop", Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}},
		}},
	}}}
}

// A packer packs messages, and keeps the first error.
type packer struct{ err error }

func (p *packer) pack(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("packing a %T: %w", m, err)
	}
	return a
}
