package inspect

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// TestSeparateConfigurations expects the filters of a call to have the configurations of their resources (A104), and the
// reason why calls fail without a usable one.
func TestSeparateConfigurations(t *testing.T) {
	with := plugincase.Extend(func(r resource.Registrar) {
		standard.Register(r)
		extension.Register(r)
	})
	config := func(filter string) *extension.Update {
		return plugincase.Read[*extension.Update](t, extension.Type(), new(corev3.TypedExtensionConfig), fmt.Sprintf(`name: "f" typed_config { %s }`, filter), with)
	}
	fault := config(`[type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { abort { http_status: 501 percentage { numerator: 1 } } }`)
	rbac := config(`[type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { }`)
	const typ = "envoy.config.core.v3.TypedExtensionConfig"
	for _, test := range []struct {
		name, more  string
		override    bool             // by the route
		resource    *status.Resource // nil: not watched
		result      string
		runs        bool
		config, why string // parts of the filter
	}{
		{name: "a filter of channels", resource: &status.Resource{State: "ACKED", Update: fault}, runs: true, config: "http_status"},
		{name: "not watched", result: `Calls fail: the client does not watch the TypedExtensionConfig "f"`, runs: true},
		{name: "no answer yet", resource: &status.Resource{State: "REQUESTED"}, result: `Calls fail: there is no TypedExtensionConfig "f": the control plane has not answered yet`, runs: true},
		{name: "a filter of servers", resource: &status.Resource{State: "ACKED", Update: rbac}, result: `Calls fail: the HTTP filter of the TypedExtensionConfig "f" is a envoy.extensions.filters.http.rbac.v3.RBAC, which is not registered for a client (A39)`, runs: true},
		{name: "an optional filter of servers", more: "is_optional: true", resource: &status.Resource{State: "ACKED", Update: rbac}, why: "not registered for a client"},
		{name: "an override of an optional filter of servers", more: "is_optional: true", override: true, resource: &status.Resource{State: "ACKED", Update: rbac}, why: "not registered for a client"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := plugincase.Read[*listener.Update](t, listener.Type(), new(listenerv3.Listener), fmt.Sprintf(`name: "l" api_listener { api_listener {
				[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
					rds { route_config_name: "r" config_source { ads { } } }
					http_filters { name: "f" config_discovery { config_source { ads { } } type_urls: "x" } %s }
					http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] { } } } } } }`, test.more), with)
			override := ""
			if test.override {
				override = `typed_per_filter_config { key: "f" value { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { } } }`
			}
			routes := decodeRoutes(t, fmt.Sprintf(`name: "r" virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "c" } %s } }`, override))
			index := make(map[resource.Ref]*status.Resource)
			if r := test.resource; r != nil {
				r.Type, r.Name = typ, parse(t, "f")
				index[resource.Ref{Type: typ, Name: r.Name}] = r
			}
			e := &explanation{nodes: &chainBuilder{index: index}}
			h := &routes.VirtualHosts[0]
			e.filters(u, routes, h, &h.Routes[0])
			if e.Result != test.result || (e.Level == Broken) != (test.result != "") {
				t.Errorf("the result is %q, level %v; want %q", e.Result, e.Level, test.result)
			}
			f := e.Filters[0]
			if f.From != "TypedExtensionConfig f" || f.Runs != test.runs || !strings.Contains(f.Reason, test.why) || !strings.Contains(fmt.Sprint(f.Config), test.config) {
				t.Errorf("the filter is %+v; want runs = %t, reason %q, configuration %q", f, test.runs, test.why, test.config)
			}
		})
	}
}
