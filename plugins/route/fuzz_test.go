package route_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

func FuzzGRPC(f *testing.F) { plugincase.FuzzWire(f, route.WireTest()) }

func FuzzEnvoy(f *testing.F) {
	plugincase.FuzzWire(f, route.WireTest(), plugincase.Profile(resource.Envoy))
}
