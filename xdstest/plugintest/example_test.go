package plugintest_test

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// The test of a resource type. The generator writes it beside each type.
func ExampleRun() {
	test := func(t *testing.T) {
		plugintest.Run(t, plugintest.Plugin{
			Type:       cluster.Type(),
			Message:    func() proto.Message { return new(clusterv3.Cluster) },
			NameField:  "name",
			Descriptor: "resource.yaml",
		})
	}
	_ = test
}
