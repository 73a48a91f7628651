package tlscontext_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
)

// The client verifies servers by the system's root certificates.
func ExampleForClient() {
	config, _ := anypb.New(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			SystemRootCerts: &tlsv3.CertificateValidationContext_SystemRootCerts{},
		}},
	}})
	socket, _ := proto.Marshal(&corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: config}})
	tls, err := tlscontext.ForClient(new(resource.DecodeContext), socket)
	fmt.Println(tls.SystemRoots, err)
	_, err = tlscontext.ForServer(new(resource.DecodeContext), socket)
	fmt.Println(err)
	// Output:
	// true <nil>
	// typed_config.type_url = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"; must be envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext (A29)
}
