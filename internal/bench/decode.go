package main

import (
	"context"
	"fmt"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	wrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// packed puts a message into an Any.
func packed(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err) // the messages of this file can be encoded
	}
	return a
}

func assignmentOf100() proto.Message {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: "service"}
	for i := range 10 {
		one := newAssignment(i, 8000)
		one.GetEndpoints()[0].Locality.Zone = fmt.Sprintf("zone-%d", i)
		a.Endpoints = append(a.Endpoints, one.GetEndpoints()...)
	}
	return a
}

func clusterWithTLS() proto.Message {
	c := newCluster(1, 100)
	c.LoadBalancingPolicy = &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
		TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "wrr_locality", TypedConfig: packed(&wrrv3.WrrLocality{
			EndpointPickingPolicy: &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
				TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "round_robin", TypedConfig: packed(&roundrobinv3.RoundRobin{})},
			}}},
		})},
	}}}
	c.TransportSocket = &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: packed(&tlsv3.UpstreamTlsContext{
		CommonTlsContext: &tlsv3.CommonTlsContext{
			ValidationContextType: &tlsv3.CommonTlsContext_CombinedValidationContext{CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext: &tlsv3.CertificateValidationContext{
					CaCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "certs"},
					MatchSubjectAltNames:          []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "spiffe://example/service"}}}, //nolint:staticcheck // what gRPC reads (A29)
				},
			}},
		},
	})}}
	return c
}

func routes50x5() proto.Message {
	rc := &routev3.RouteConfiguration{Name: "routes"}
	to := func(i, j int) *routev3.Route_Route {
		return &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: fmt.Sprintf("cluster-%d-%d", i, j)}}}
	}
	for i := range 50 {
		vh := &routev3.VirtualHost{Name: fmt.Sprintf("host-%d", i), Domains: []string{fmt.Sprintf("host-%d.example.com", i)}}
		for j := range 4 {
			vh.Routes = append(vh.Routes, &routev3.Route{
				Match: &routev3.RouteMatch{
					PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: fmt.Sprintf("/service-%d/", j)},
					Headers: []*routev3.HeaderMatcher{{Name: "x-tier", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
						StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "gold"}},
					}}},
				},
				Action: to(i, j),
			})
		}
		vh.Routes = append(vh.Routes, &routev3.Route{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: `/api/v[0-9]+/.*`}}},
			Action: to(i, 4),
		})
		rc.VirtualHosts = append(rc.VirtualHosts, vh)
	}
	return rc
}

func apiListener() proto.Message {
	return &listenerv3.Listener{Name: "listener", ApiListener: &listenerv3.ApiListener{ApiListener: packed(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: "routes",
			ConfigSource:    &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{
			{Name: "fault", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&faultv3.HTTPFault{MaxActiveFaults: wrapperspb.UInt32(10)})}},
			{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&routerv3.Router{})}},
		},
	})}}
}

// nested unmarshals the Any messages that a message is known to have, without looking
// for them.
func nested(bodies [][]byte, fresh []func() proto.Message) func() error {
	return func() error {
		for i, b := range bodies {
			if err := proto.Unmarshal(b, fresh[i]()); err != nil {
				return err
			}
		}
		return nil
	}
}

// anys finds the messages in the Anys of a message, itself first.
func anys(m proto.Message) (bodies [][]byte, fresh []func() proto.Message, err error) {
	var visit func(m protoreflect.Message) error
	add := func(m protoreflect.Message) error {
		b, err := proto.Marshal(m.Interface())
		if err != nil {
			return err
		}
		typ := m.Type()
		bodies, fresh = append(bodies, b), append(fresh, func() proto.Message { return typ.New().Interface() })
		return visit(m)
	}
	visit = func(m protoreflect.Message) (err error) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			each := func(m protoreflect.Message) {
				a, ok := m.Interface().(*anypb.Any)
				if !ok {
					err = visit(m)
					return
				}
				inner, e := a.UnmarshalNew()
				if err = e; err == nil {
					err = add(inner.ProtoReflect())
				}
			}
			switch {
			case f.Message() == nil || f.IsMap():
			case f.IsList():
				for i := 0; i < v.List().Len() && err == nil; i++ {
					each(v.List().Get(i).Message())
				}
			default:
				each(v.Message())
			}
			return err == nil
		})
		return err
	}
	return bodies, fresh, add(m.ProtoReflect())
}

// decodeRows are decoding and validation beside proto.Unmarshal alone, that of nested
// messages included.
func decodeRows(context.Context) (rows []Row, err error) {
	set, err := standardTypes()
	if err != nil {
		return nil, err
	}
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "x", "channel_creds": [{"type": "insecure"}]}],
		"certificate_providers": {"certs": {"plugin_name": "file_watcher", "config": {"certificate_file": "c", "private_key_file": "k", "ca_certificate_file": "a", "refresh_interval": "60s"}}}}`))
	if err != nil {
		return nil, err
	}
	for _, d := range []struct {
		name    string
		typ     resource.Type
		message proto.Message
		bound   float64
		allocs  float64
	}{
		{"an assignment of 100 endpoints", endpoint.Type(), assignmentOf100(), 0.25, 20},
		{"a cluster with wrr_locality and TLS", cluster.Type(), clusterWithTLS(), 0.7, 30},
		{"50 virtual hosts of 5 routes", route.Type(), routes50x5(), 0.8, 2500},
		{"an API listener, fault and router", listener.Type(), apiListener(), 0.6, 20},
	} {
		body, err := proto.Marshal(d.message)
		if err != nil {
			return nil, err
		}
		name, err := xdstp.Parse("name")
		if err != nil {
			return nil, err
		}
		dc := resource.DecodeContext{Name: name, Types: set, Bootstrap: config, Server: config.Servers()[0]}
		typ := resource.Describe(d.typ)
		if _, err := typ.Decode(&dc, body); err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		bodies, fresh, err := anys(d.message)
		if err != nil {
			return nil, err
		}
		decode := func() error {
			one := dc
			_, err := typ.Decode(&one, body)
			return err
		}
		mine, peer, err := compare(decode, nested(bodies, fresh))
		if err != nil {
			return nil, err
		}
		allocs := testing.AllocsPerRun(100, func() { _ = decode() }) // it did not fail before
		rows = append(
			rows,
			Row{Name: "decode " + d.name, Unit: "us", Ours: microseconds(mine), Peer: microseconds(peer), Beside: "Unmarshal", Bound: d.bound},
			Row{Name: "  its allocations", Unit: "", Ours: allocs, Bound: d.allocs},
		)
	}
	return rows, nil
}
