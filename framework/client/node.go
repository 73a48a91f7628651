package client

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// userAgent and userAgentVersion identify the client in the node.
const (
	userAgent        = "xdsforge"
	userAgentVersion = "0.1.0"
)

// clientFeatures returns features that control planes may rely on: the client ignores
// overprovisioning factors (gRFC A27), and it accepts resources in a wrapper that names them.
func clientFeatures() []string {
	return []string{"envoy.lb.does_not_support_overprovisioning", "xds.config.resource-in-sotw", "xds.config.supports-resource-ttl"}
}

// encodeNode returns the node of a stream's first request, with features that only this kind of
// stream has.
func encodeNode(config *bootstrap.Config, features ...string) ([]byte, error) {
	node := config.Node()
	node.UserAgentName = userAgent
	node.UserAgentVersionType = &corev3.Node_UserAgentVersion{UserAgentVersion: userAgentVersion}
	node.ClientFeatures = append(node.ClientFeatures, clientFeatures()...)
	node.ClientFeatures = append(node.ClientFeatures, features...)
	b, err := proto.Marshal(node)
	if err != nil {
		return nil, fmt.Errorf("client: encoding the node: %w", err)
	}
	return b, nil
}
