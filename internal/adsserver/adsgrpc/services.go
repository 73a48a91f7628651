package adsgrpc

import (
	"strings"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// A Method is one method of a discovery service.
type Method struct {
	Service string // full name of the gRPC service
	Name    string
	Delta   bool
	URL     string // type URL of the service; "" for the aggregated service
}

const typePrefix = "type.googleapis.com/"

// aggregated returns the methods of the aggregated discovery service.
func aggregated() []Method {
	methods := make([]Method, 0, 2)
	for _, full := range []string{transport.MethodADS, transport.MethodDeltaADS} {
		service, name, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
		methods = append(methods, Method{Service: service, Name: name, Delta: full == transport.MethodDeltaADS})
	}
	return methods
}

// single returns the methods of the discovery services of one type. Those of virtual hosts and of
// localities exist only in the delta protocol.
func single() (methods []Method) {
	for _, s := range []struct{ service, stream, message string }{
		{"envoy.service.cluster.v3.ClusterDiscoveryService", "Clusters", "envoy.config.cluster.v3.Cluster"},
		{"envoy.service.endpoint.v3.EndpointDiscoveryService", "Endpoints", "envoy.config.endpoint.v3.ClusterLoadAssignment"},
		{"envoy.service.listener.v3.ListenerDiscoveryService", "Listeners", "envoy.config.listener.v3.Listener"},
		{"envoy.service.route.v3.RouteDiscoveryService", "Routes", "envoy.config.route.v3.RouteConfiguration"},
		{"envoy.service.route.v3.ScopedRoutesDiscoveryService", "ScopedRoutes", "envoy.config.route.v3.ScopedRouteConfiguration"},
		{"envoy.service.secret.v3.SecretDiscoveryService", "Secrets", "envoy.extensions.transport_sockets.tls.v3.Secret"},
		{"envoy.service.runtime.v3.RuntimeDiscoveryService", "Runtime", "envoy.service.runtime.v3.Runtime"},
		{"envoy.service.extension.v3.ExtensionConfigDiscoveryService", "ExtensionConfigs", "envoy.config.core.v3.TypedExtensionConfig"},
	} {
		methods = append(methods,
			Method{Service: s.service, Name: "Stream" + s.stream, URL: typePrefix + s.message},
			Method{Service: s.service, Name: "Delta" + s.stream, Delta: true, URL: typePrefix + s.message})
	}
	return append(methods,
		Method{Service: "envoy.service.route.v3.VirtualHostDiscoveryService", Name: "DeltaVirtualHosts", Delta: true, URL: typePrefix + "envoy.config.route.v3.VirtualHost"},
		Method{Service: "envoy.service.endpoint.v3.LocalityEndpointDiscoveryService", Name: "DeltaLocalityEndpoints", Delta: true, URL: typePrefix + "envoy.config.endpoint.v3.LbEndpoint"})
}

// RegisterHost registers the aggregated discovery service, and those of one type for which has
// returns true.
func RegisterHost(r grpc.ServiceRegistrar, host Host, has func(url string) bool) {
	var services []*grpc.ServiceDesc
	byName := make(map[string]*grpc.ServiceDesc)
	for _, m := range append(aggregated(), single()...) {
		if m.URL != "" && !has(m.URL) {
			continue
		}
		desc := byName[m.Service]
		if desc == nil {
			desc = &grpc.ServiceDesc{ServiceName: m.Service}
			byName[m.Service] = desc
			services = append(services, desc)
		}
		desc.Streams = append(desc.Streams, grpc.StreamDesc{
			StreamName: m.Name, ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, ss grpc.ServerStream) error { return serve(ss, host, m) },
		})
	}
	for _, desc := range services {
		r.RegisterService(desc, nil)
	}
}
