package endpoint_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

func FuzzGRPC(f *testing.F) { plugincase.FuzzWire(f, endpoint.WireTest()) }

func FuzzEnvoy(f *testing.F) {
	plugincase.FuzzWire(f, endpoint.WireTest(), plugincase.Profile(resource.Envoy))
}
