package extension_test

import (
	"strings"
	"testing"

	_ "github.com/cncf/xds/go/udpa/type/v1" // for prototext
	_ "github.com/cncf/xds/go/xds/type/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

const (
	filters   = "type.googleapis.com/envoy.extensions.filters.http."
	faultText = `name: "e" typed_config { [` + filters + `fault.v3.HTTPFault] { max_active_faults { value: 2 } } }`
)

// TestKit runs the conformance kit on a configuration whose filter is registered.
func TestKit(t *testing.T) {
	plugincase.Kit(t, plugintest.Plugin{
		Type: extension.Type(), NameField: "name",
		Message: func() proto.Message { return new(corev3.TypedExtensionConfig) },
	}, "testdata/full")
}

// The HTTP filter parses its configuration, also from a TypedStruct. The update has the sides of the filter.
func TestFilter(t *testing.T) {
	for _, text := range []string{
		faultText,
		`name: "e" typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/envoy.extensions.filters.http.fault.v3.HTTPFault"
			value { fields { key: "max_active_faults" value { number_value: 2 } } } } }`,
	} {
		for _, profile := range []resource.Profile{resource.GRPC, resource.HTTP, resource.Envoy} {
			u := plugincase.Read[*extension.Update](t, extension.Type(), new(corev3.TypedExtensionConfig), text, plugincase.Profile(profile))
			config, ok := u.Filter.(fault.Config)
			if !ok || *config.MaxActive != 2 || u.Message != "envoy.extensions.filters.http.fault.v3.HTTPFault" || u.Sides != fault.Filter().Sides {
				t.Errorf("profile %v: update %v; want the configuration of a fault", profile, u)
			}
		}
	}
}

// A filter may have no result, and still has sides. Without a registered filter, there are none.
func TestFilterWithoutResult(t *testing.T) {
	const text = `name: "e" typed_config { [type.googleapis.com/envoy.config.core.v3.Address] { } }`
	register := plugincase.Extend(func(r resource.Registrar) {
		r.Extend(&resource.HTTPFilter{
			Config: "envoy.config.core.v3.Address", Sides: resource.ServerSide,
			Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return nil, nil }, //nolint:nilnil // the configuration has no settings
		})
	})
	u := plugincase.Read[*extension.Update](t, extension.Type(), new(corev3.TypedExtensionConfig), text, register)
	if u.Sides != resource.ServerSide {
		t.Errorf("the sides are %v; want those of the filter", uint8(u.Sides))
	}
}

// A filter may contain filters of any side, because either side may use the configuration (A103).
func TestNestedFilters(t *testing.T) {
	inner := map[string]resource.Side{"envoy.extensions.filters.http.rbac.v3.RBAC": resource.ServerSide, "envoy.extensions.filters.http.fault.v3.HTTPFault": resource.ClientSide}
	for message, side := range inner {
		register := plugincase.Extend(func(r resource.Registrar) {
			r.Extend(&resource.HTTPFilter{
				Config: "envoy.config.core.v3.Address", Sides: resource.ClientSide | resource.ServerSide,
				Parse: func(dc *resource.DecodeContext, _ resource.TypedConfig) (any, error) {
					_, config, err := dc.NestedFilter(&anypb.Any{TypeUrl: "type.googleapis.com/" + message})
					return config, err
				},
			})
		})
		m := &corev3.TypedExtensionConfig{Name: "e", TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/envoy.config.core.v3.Address"}}
		if _, err := plugincase.Decode(t, extension.Type(), m, register); err != nil {
			t.Errorf("a filter for a %v in another one: %v; want no error", side, err)
		}
	}
}

// Nobody can reject a configuration later. So it must be of a registered filter that is not terminal, unless a proxy reads it
// (A104).
func TestVerdicts(t *testing.T) {
	for name, tt := range map[string]struct{ config, want, proxy string }{
		"unknown":  {`[type.googleapis.com/envoy.config.core.v3.Address] { }`, `typed_config = "envoy.config.core.v3.Address"; must be of an HTTP filter that is registered (A104)`, "ok"},
		"terminal": {`[` + filters + `router.v3.Router] { }`, `typed_config = "envoy.extensions.filters.http.router.v3.Router"; must not be of a terminal filter; put it into the Listener (A104)`, "ok"},
		"override": {`[` + filters + `rbac.v3.RBACPerRoute] { }`, `typed_config = "envoy.extensions.filters.http.rbac.v3.RBACPerRoute"; must be the configuration of a filter; it is an override (A39)`, "the same"},
		"invalid":  {`[` + filters + `fault.v3.HTTPFault] { abort { } }`, `typed_config.abort; must have exactly one of http_status, grpc_status, header_abort set (A33)`, "the same"},
		"garbage":  {`type_url: "x/xds.type.v3.TypedStruct" value: "\377"`, `typed_config; not a xds.type.v3.TypedStruct`, "the same"},
		"no type":  {`value: "x"`, `typed_config.type_url = ""; must be set`, "the same"},
	} {
		m := new(corev3.TypedExtensionConfig)
		if err := prototext.Unmarshal([]byte(`name: "e" typed_config { `+tt.config+` }`), m); err != nil {
			t.Fatal(err)
		}
		if tt.proxy == "the same" {
			tt.proxy = tt.want
		}
		for profile, want := range map[resource.Profile]string{resource.GRPC: tt.want, resource.HTTP: tt.want, resource.Envoy: tt.proxy} {
			_, err := plugincase.Decode(t, extension.Type(), m, plugincase.Profile(profile))
			if got := strings.Join(plugincase.Verdict(err), "; "); !strings.HasPrefix(got, want) {
				t.Errorf("%s in profile %v: verdict %q; want %q", name, profile, got, want)
			}
		}
	}
}

// A proxy keeps the configuration of an unregistered extension as bytes.
func TestProxy(t *testing.T) {
	u := plugincase.Read[*extension.Update](t, extension.Type(), new(corev3.TypedExtensionConfig), `name: "e" typed_config { [type.googleapis.com/envoy.config.core.v3.Address] { pipe { path: "p" } } }`,
		plugincase.Profile(resource.Envoy))
	if u.Filter != nil || u.Sides != 0 || u.Message != "envoy.config.core.v3.Address" || len(u.Config.Value) == 0 {
		t.Errorf("update %v; want the bytes of an Address", u)
	}
}
