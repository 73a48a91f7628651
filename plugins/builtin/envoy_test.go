package builtin_test

import (
	"strings"
	"testing"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/registry"
)

// parse lets a built-in filter parse a configuration in text.
func parse(t *testing.T, profile resource.Profile, m proto.Message, text string, override bool) (config any, err error) {
	t.Helper()
	r := registry.New()
	builtin.Register(r)
	set, err := r.Freeze()
	if err == nil {
		set, err = set.Extend(profile)
	}
	if err == nil {
		err = prototext.Unmarshal([]byte(text), m)
	}
	a := new(anypb.Any)
	if err == nil {
		err = a.MarshalFrom(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: set}
	c, err := dc.OpenTypedConfig(a)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := set.HTTPFilter(c.Message)
	if !ok {
		t.Fatalf("there is no filter for %s", c.Message)
	}
	if override {
		return f.ParseOverride(dc, c)
	}
	return f.Parse(dc, c)
}

// Istio lets the Envoy of a workload ask a cluster for authorization, and check paths against templates. gRPC supports
// neither. In profile Envoy, the result is the received message. A message that breaks its own rules is rejected, and a
// configuration that gRPC supports is parsed.
func TestEnvoyKeepsConfigurationsThatOnlyEnvoySupports(t *testing.T) {
	const policy = `rules { policies { key: "p" value { principals { any: true } permissions { `
	for _, c := range []struct {
		name     string
		message  proto.Message
		text     string
		override bool
		gRPC     string // the error in profile GRPC
		envoy    string // the error in profile Envoy; or empty
		parsed   bool   // in profile Envoy
	}{
		{"a service in a cluster", new(extauthzv3.ExtAuthz), `grpc_service { envoy_grpc { cluster_name: "authz" } }`, false, "grpc_service.google_grpc; must be set", "", false},
		{"a template of paths", new(rbacv3.RBAC), policy + `uri_template { name: "t" typed_config { type_url: "x/y" } } } } } }`, false, "must be one that gRPC supports", "", false},
		{"an override", new(rbacv3.RBACPerRoute), `rbac { ` + policy + `uri_template { name: "t" typed_config { type_url: "x/y" } } } } } } }`, true, "must be one that gRPC supports", "", false},
		{"a policy without principals", new(rbacv3.RBAC), `rules { policies { key: "p" value { permissions { any: true } } } }`, false, "principals", "principals", false},
		{"a port", new(rbacv3.RBAC), policy + `destination_port: 80 } } } }`, false, "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parse(t, resource.GRPC, c.message, c.text, c.override); !matches(err, c.gRPC) {
				t.Errorf("in profile GRPC: error %v; want %q", err, c.gRPC)
			}
			config, err := parse(t, resource.Envoy, c.message, c.text, c.override)
			if !matches(err, c.envoy) {
				t.Errorf("in profile Envoy: error %v; want %q", err, c.envoy)
			}
			if err != nil {
				return
			}
			received, ok := config.(*anypb.Any)
			if ok == c.parsed {
				t.Fatalf("in profile Envoy: %T; want parsed = %v", config, c.parsed)
			}
			if ok {
				m, err := received.UnmarshalNew()
				if err != nil || !proto.Equal(m, c.message) {
					t.Errorf("in profile Envoy: %v, error %v; want %v", m, err, c.message)
				}
			}
		})
	}
}

func matches(err error, text string) bool {
	if text == "" || err == nil {
		return text == "" && err == nil
	}
	return strings.Contains(err.Error(), text)
}
