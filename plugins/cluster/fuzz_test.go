package cluster_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

func FuzzGRPC(f *testing.F) { plugincase.FuzzWire(f, cluster.WireTest()) }

func FuzzEnvoy(f *testing.F) {
	plugincase.FuzzWire(f, cluster.WireTest(), plugincase.Profile(resource.Envoy))
}
