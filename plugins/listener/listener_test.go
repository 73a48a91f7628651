package listener_test

import (
	"slices"
	"testing"
	"time"

	_ "github.com/cncf/xds/go/udpa/type/v1" // for prototext
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/http_inspector/v3" // the cases name these
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/original_dst/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestCases(t *testing.T) {
	plugincase.Run(t, listener.Type(), func() proto.Message { return new(listenerv3.Listener) })
}

// TestKit runs the conformance kit on a resource that sets every field.
func TestKit(t *testing.T) {
	plugincase.Kit(t, plugintest.Plugin{
		Type: listener.Type(), NameField: "name",
		Message: func() proto.Message { return new(listenerv3.Listener) },
	}, "testdata/full")
}

func decode(t testing.TB, text string, opts ...plugincase.Option) *listener.Update {
	t.Helper()
	return plugincase.Read[*listener.Update](t, listener.Type(), new(listenerv3.Listener), `name: "l" `+text, opts...)
}

const (
	managerAny = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager]`
	routerText = `http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] { } } }`
	unknownAny = `typed_config { [type.googleapis.com/envoy.config.core.v3.Address] { } }`
	address    = `address { socket_address { address: "0.0.0.0" port_value: 80 } } `
)

func refs(u resource.Update) []string {
	var out []string
	for r := range u.Refs() {
		out = append(out, r.Name.String())
	}
	return out
}

func TestClient(t *testing.T) {
	u := decode(t, `api_listener { api_listener { `+managerAny+` { rds { route_config_name: "r" config_source { ads { } } } common_http_protocol_options { max_stream_duration { seconds: 3 } }
		http_filters { name: "f" typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { abort { http_status: 503 percentage { numerator: 100 } } max_active_faults { value: 2 } } } }
		http_filters { name: "o" is_optional: true `+unknownAny+` } `+routerText+` } } }`)
	if u.API == nil || u.API.Routes != (listener.RDS{Name: "r"}) || u.API.MaxStreamDuration != 3*time.Second || u.Address != "" || u.FilterChain(listener.Conn{}) != nil {
		t.Fatalf("listener %+v", u)
	}
	f := u.API.Filters
	if len(f) != 3 || f[0].Name != "f" || f[1].Skipped != "the optional filter is not registered for a client" || f[2].Config != (router.Config{}) {
		t.Fatalf("filters = %+v", f)
	}
	config, ok := f[0].Config.(fault.Config)
	if !ok || config.Delay != nil || *config.Abort != (fault.Abort{PerMillion: 1_000_000, Code: 14, Status: 503}) || *config.MaxActive != 2 {
		t.Errorf("the fault is %+v", f[0].Config)
	}
	if !slices.Equal(refs(u), []string{"r"}) {
		t.Errorf("refs %q", refs(u))
	}
}

// A program can register its own filter, configured by a TypedStruct.
func TestOwnFilter(t *testing.T) {
	own := plugincase.Extend(func(r resource.Registrar) {
		r.Extend(&resource.HTTPFilter{
			Config: "acme.Tag", Sides: resource.ServerSide | resource.ClientSide, Terminal: true,
			Parse: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
				return dc.Side().String() + " " + c.Fields.AsMap()["tag"].(string), nil
			},
		})
	})
	const manager = managerAny + ` { rds { route_config_name: "r" config_source { ads { } } }
		http_filters { name: "t" typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/acme.Tag" value { fields { key: "tag" value { string_value: "blue" } } } } } } }`
	client := decode(t, `api_listener { api_listener { `+manager+` } }`, own)
	server := decode(t, address+`filter_chains { filters { name: "m" typed_config { `+manager+` } } }`, own)
	if got := client.API.Filters[0].Config; got != "client blue" {
		t.Errorf("the client's is %v", got)
	}
	if got := server.FilterChains[0].Manager().Filters[0].Config; got != "server blue" {
		t.Errorf("the server's is %v", got)
	}
}

func TestServer(t *testing.T) {
	u := decode(t, `address { socket_address { address: "::1" port_value: 80 } }
		filter_chains { name: "a" filters { name: "m" typed_config { `+managerAny+` { rds { route_config_name: "xdstp://e/envoy.config.route.v3.RouteConfiguration/r?b=1&a=2" config_source { self { } } } `+routerText+` } } }
			transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] { require_client_certificate { value: true } common_tls_context {
				tls_certificate_provider_instance { instance_name: "identity" certificate_name: "i" } combined_validation_context { default_validation_context { ca_certificate_provider_instance { instance_name: "roots" } } } } } } } }
		default_filter_chain { filters { name: "m" typed_config { `+managerAny+` { route_config { virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "c" } } } } `+routerText+` } } } }`)
	a := &u.FilterChains[0]
	if u.API != nil || u.Address != "[::1]:80" || a.Name != "a" || a.Manager().Routes != (listener.RDS{Name: "xdstp://e/envoy.config.route.v3.RouteConfiguration/r?a=2&b=1"}) {
		t.Fatalf("listener %+v", u)
	}
	if a.TLS == nil || a.TLS.Identity.Provider != "identity" || a.TLS.Identity.Certificate != "i" || a.TLS.Roots.Provider != "roots" || !a.TLS.RequireClientCertificate {
		t.Errorf("TLS %+v", a.TLS)
	}
	if _, ok := u.DefaultFilterChain.Manager().Routes.(listener.Inline); !ok || u.DefaultFilterChain.TLS != nil {
		t.Errorf("the default chain is %+v", u.DefaultFilterChain)
	}
	if want := []string{"xdstp://e/envoy.config.route.v3.RouteConfiguration/r?a=2&b=1", "c"}; !slices.Equal(refs(u), want) {
		t.Errorf("refs %q; want %q", refs(u), want)
	}
}

// Profile Envoy keeps unknown extensions in their received form.
func TestEnvoyKeepsWhatItDoesNotKnow(t *testing.T) {
	u := decode(t, `filter_chains { filters { name: "x" `+unknownAny+` } transport_socket { name: "t" `+unknownAny+` } }
		filter_chains { filters { name: "m" typed_config { `+managerAny+` { stat_prefix: "s" rds { config_source { ads { } } route_config_name: "r" } http_filters { name: "h" `+unknownAny+` }
			http_filters { name: "e" is_optional: true config_discovery { config_source { ads { } } type_urls: "x" } } } } } }`, plugincase.Profile(resource.Envoy))
	first, second := u.FilterChains[0], u.FilterChains[1]
	if first.Manager() != nil || first.Filters[0].Other == nil || first.TLS != nil || first.TransportSocket != "envoy.config.core.v3.Address" {
		t.Errorf("the first chain is %+v", first)
	}
	if f := second.Manager().Filters[1]; f.Skipped != "" || f.Message != "" || f.Config != nil {
		t.Errorf("the HTTP filter whose configuration is discovered is %+v", f)
	}
	if f := second.Manager().Filters[0]; f.Config == nil || f.Message != "envoy.config.core.v3.Address" {
		t.Errorf("the HTTP filter is %+v", f)
	}
}

// The decoder validates a disabled filter like any other. The last filter may be disabled (A39).
func TestDisabledFilter(t *testing.T) {
	u := decode(t, `api_listener { api_listener { `+managerAny+` { rds { route_config_name: "r" config_source { ads { } } }
		http_filters { name: "f" disabled: true typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { max_active_faults { value: 2 } } } }
		http_filters { name: "router" disabled: true typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] { } } } } } }`)
	f := u.API.Filters
	if config, ok := f[0].Config.(fault.Config); !ok || *config.MaxActive != 2 || !f[0].Disabled || !f[1].Disabled {
		t.Errorf("filters %+v", f)
	}
}

// The decoder ignores the server fields of a client's Listener, and skips an optional filter whose
// configuration is discovered.
func TestClientReadsItsPartOnly(t *testing.T) {
	const chain = ` { name: "c" filters { name: "m" typed_config { ` + managerAny + ` { rds { route_config_name: "other" config_source { ads { } } } ` + routerText + ` } } } } `
	u := decode(t, `api_listener { api_listener { `+managerAny+` { rds { route_config_name: "r" config_source { ads { } } }
		http_filters { name: "e" is_optional: true config_discovery { config_source { ads { } } type_urls: "x" } } `+routerText+` } } }
		`+address+`filter_chains`+chain+`default_filter_chain`+chain)
	if u.FilterChains != nil || u.DefaultFilterChain != nil || u.Address != "" {
		t.Errorf("listener = %+v; want no server fields", u)
	}
	if !slices.Equal(refs(u), []string{"r"}) {
		t.Errorf("refs %q", refs(u))
	}
	if f := u.API.Filters; f[0].Skipped != "the optional filter has no configuration" || f[1].Skipped != "" {
		t.Errorf("filters %+v", f)
	}
}
