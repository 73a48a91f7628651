package listener_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// discovered returns a filter whose configuration is a separate resource.
func discovered(name, more string) string {
	return fmt.Sprintf(`http_filters { name: %q config_discovery { config_source { ads { } } type_urls: "x" apply_default_config_without_warming: true default_config { %s } } %s } `, name, `[type.googleapis.com/envoy.config.core.v3.Address] { }`, more)
}

// called returns a client Listener with these filters.
func called(filters string) string {
	return `api_listener { api_listener { ` + managerAny + ` { stat_prefix: "s" rds { route_config_name: "r" config_source { ads { } } } ` + filters + ` } } }`
}

// chained returns a server Listener with these filters.
func chained(filters string) string {
	return address + `filter_chains { filters { name: "m" typed_config { ` + managerAny + ` { stat_prefix: "s" rds { route_config_name: "r" config_source { ads { } } } ` + filters + ` } } } }`
}

func verdict(t *testing.T, text string, opts ...plugincase.Option) string {
	t.Helper()
	m := new(listenerv3.Listener)
	if err := prototext.Unmarshal([]byte(`name: "l" `+text), m); err != nil {
		t.Fatal(err)
	}
	_, err := plugincase.Decode(t, listener.Type(), m, append(opts, plugincase.Extend(extension.Register))...)
	return strings.Join(plugincase.Verdict(err), "; ")
}

// The configuration of a filter may be a resource with the name of the filter. The other fields of config_discovery have no
// meaning, and being optional changes nothing (A104).
func TestExtension(t *testing.T) {
	const long, canonical = "xdstp://a/envoy.config.core.v3.TypedExtensionConfig/x?b=1&a=2", "xdstp://a/envoy.config.core.v3.TypedExtensionConfig/x?a=2&b=1"
	filters := discovered("e", "") + discovered("o", "is_optional: true disabled: true") + discovered(long, "") + routerText
	for _, profile := range []resource.Profile{resource.GRPC, resource.HTTP, resource.Envoy} {
		for side, text := range map[string]string{"client": called(filters), "server": chained(filters)} {
			u := decode(t, text, plugincase.Extend(extension.Register), plugincase.Profile(profile))
			var list []listener.HTTPFilter
			if side == "client" {
				list = u.API.Filters
			} else {
				list = u.FilterChains[0].Manager().Filters
			}
			want := []listener.HTTPFilter{
				{Name: "e", Extension: "e"}, {Name: "o", Extension: "o", Optional: true, Disabled: true}, {Name: long, Extension: canonical},
			}
			if !slices.Equal(list[:3], want) {
				t.Errorf("profile %v: the filters of a %s are\n%+v; want\n%+v", profile, side, list[:3], want)
			}
			if got := refs(u); !slices.Equal(got, []string{"r", "e", "o", canonical}) {
				t.Errorf("profile %v: a %s refers to %q; want the routes and the configurations", profile, side, got)
			}
		}
	}
}

func TestInvalidExtensions(t *testing.T) {
	const at = "api_listener.api_listener.http_filters"
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(discovered(fmt.Sprint("e", i), ""))
		}
		return b.String() + routerText
	}
	for name, tt := range map[string]struct{ text, want string }{
		"another type":     {called(discovered("xdstp://a/envoy.config.listener.v3.Listener/x", "") + routerText), at + `[0] = "xdstp://a/envoy.config.listener.v3.Listener/x"; must name a envoy.config.core.v3.TypedExtensionConfig`},
		"no name":          {called(discovered("", "") + routerText), at + `[0].name = ""; must be set (A39)`},
		"at the end":       {called(discovered("e", "")), at + `[0] = "e"; must not be the last filter, because config_discovery is for filters before the router (A104)`},
		"after the router": {called(routerText + discovered("e", "")), at + `[0] = "envoy.extensions.filters.http.router.v3.Router"; must be the last filter (A39)`},
		"100":              {called(many(100)), "ok"},
		"101":              {called(many(101)), at + ` = 101; must have at most 100 filters with config_discovery`},
		"101 on a server":  {chained(many(101)), `filter_chains[0].filters[0].typed_config.http_filters = 101; must have at most 100 filters with config_discovery`},
	} {
		if got := verdict(t, tt.text); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: verdict\n%s; want\n%s", name, got, tt.want)
		}
	}
	if got, want := verdict(t, called(discovered("", "")+routerText)), at+`[0].name = ""; must be set (A39)`; got != want {
		t.Errorf("no name: verdict %q; want only %q", got, want)
	}
	if got := verdict(t, called(many(101)), plugincase.Profile(resource.Envoy)); got != "ok" {
		t.Errorf("101 filters for a proxy: %s; want ok", got)
	}
}
