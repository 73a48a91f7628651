package route_test

import (
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// The time limits of HTTP requests are not negative.
func TestNegativeTimeLimits(t *testing.T) {
	for field, text := range map[string]string{
		"route.timeout":                      `timeout { seconds: -1 }`,
		"route.retry_policy.per_try_timeout": `retry_policy { retry_on: "5xx" per_try_timeout { seconds: -1 } }`,
	} {
		m := new(routev3.RouteConfiguration)
		if err := prototext.Unmarshal([]byte(`name: "r" virtual_hosts { name: "h" domains: "*" routes { match { prefix: "" } route { cluster: "c" `+text+` } } }`), m); err != nil {
			t.Fatal(err)
		}
		_, err := plugincase.Decode(t, route.Type(), m, plugincase.Profile(resource.HTTP))
		if err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "at least 0s") {
			t.Errorf("%s: %v; want an error with the field", text, err)
		}
	}
}
