package grpcservice_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// The bootstrap allows resources to name one service. The Parse of an HTTP filter reads it.
func ExampleRead() {
	config, err := bootstrap.Parse([]byte(`{
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {"dns:///authz.example:443": {"channel_creds": [{"type": "tls"}]}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	dc := &resource.DecodeContext{Bootstrap: config, Server: config.Servers()[0]}
	for _, target := range []string{"dns:///authz.example:443", "dns:///evil.example:443"} {
		var v resource.Violations
		p := (*resource.Path)(nil).Field("grpc_service")
		s := grpcservice.Read(dc, p, &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_GoogleGrpc_{
			GoogleGrpc: &corev3.GrpcService_GoogleGrpc{TargetUri: target},
		}}, nil, &v)
		if err := v.Err(); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(s.Server)
	}
	// Output:
	// dns:///authz.example:443 (tls)
	// grpc_service.google_grpc.target_uri = "dns:///evil.example:443"; must be one of the bootstrap's allowed_grpc_services, because the server is not a trusted_xds_server (A102)
}
