package controlplane

import (
	"fmt"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3" // for prototext
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Standard returns the full names of the messages that gRPC asks control planes for.
func Standard() []string {
	return []string{
		"envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration",
		"envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment",
	}
}

// Parse reads a message from protobuf's text format.
func Parse(m proto.Message, format string, args ...any) error {
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		return fmt.Errorf("controlplane: %T: %w", m, err)
	}
	return nil
}

// SetText adds or replaces a resource, which is parsed into m from protobuf's text format.
func (s *Server) SetText(name string, m proto.Message, format string, args ...any) error {
	if err := Parse(m, format, args...); err != nil {
		return err
	}
	return s.Set(name, m)
}
