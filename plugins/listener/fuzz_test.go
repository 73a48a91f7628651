package listener_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

func FuzzGRPC(f *testing.F) { plugincase.FuzzWire(f, listener.WireTest()) }

func FuzzEnvoy(f *testing.F) {
	plugincase.FuzzWire(f, listener.WireTest(), plugincase.Profile(resource.Envoy))
}
