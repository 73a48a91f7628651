package xdsctl

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/plugins/secret"
)

// validated returns the result of validating a file with the types of a program.
func validated(t *testing.T, text string, types ...func(xdsforge.Registrar)) (code int, out string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	code = Run(t.Context(), []string{"validate", path}, strings.NewReader(""), &b, &b, types...)
	return code, b.String()
}

// A program's own resource type is decoded by its own decoder.
func TestOwnType(t *testing.T) {
	const text = `{"@type": type.googleapis.com/envoy.type.v3.Percent, value: 250}`
	percents := resource.Define(resource.Raw[*typev3.Percent](nil))
	if code, out := validated(t, text); code != exitOK || !strings.Contains(out, "no resource type is registered") {
		t.Errorf("without the type: exit code %d, %s; want 0 and a warning", code, out)
	}
	code, out := validated(t, text, percents.Register)
	if code != exitRejected || !strings.Contains(out, `own.yaml:1:61: error: Percent: value = 250; `) {
		t.Errorf("with the type: exit code %d, %s; want 2 and the rule of the value", code, out)
	}
}

// A program's own HTTP filter is known, and its parser decides.
func TestOwnFilter(t *testing.T) {
	const text = `"@type": type.googleapis.com/envoy.config.listener.v3.Listener
name: svc
api_listener:
  api_listener:
    "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
    rds: {config_source: {ads: {}}, route_config_name: r}
    http_filters:
    - {name: own, typed_config: {"@type": type.googleapis.com/envoy.type.v3.Percent, value: 250}}
    - name: router
      typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
`
	var rule error
	register := func(r xdsforge.Registrar) {
		r.Extend(&httpfilter.Filter{
			HTTPFilter: &resource.HTTPFilter{
				Config: "envoy.type.v3.Percent", Sides: resource.ClientSide,
				Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return "parsed", rule },
			},
			NewClient: httpfilter.ClientFunc(func(_, _ any) (httpfilter.ClientInterceptor, error) { return nil, nil }),
		})
	}
	if code, out := validated(t, text); code != exitRejected || !strings.Contains(out, "must be of a filter that is registered") {
		t.Errorf("without the filter: exit code %d, %s; want 2", code, out)
	}
	if code, out := validated(t, text, register); code != exitOK {
		t.Errorf("with the filter: exit code %d, %s; want 0", code, out)
	}
	rule = errors.New("too much")
	if code, out := validated(t, text, register); code != exitRejected || !strings.Contains(out, "own.yaml:8:") || !strings.Contains(out, "too much") {
		t.Errorf("with a filter that rejects: exit code %d, %s; want 2, its rule, and the line", code, out)
	}
}

// A program may register types that the command has, but not a type of its own twice.
func TestSameTypes(t *testing.T) {
	const text = `{"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment, cluster_name: c}`
	if code, out := validated(t, text, grpcxds.Register, secret.Register); code != exitOK {
		t.Errorf("exit code %d, %s; want 0", code, out)
	}
	first, second := resource.Define(resource.Raw[*typev3.Percent](nil)), resource.Define(resource.Raw[*typev3.Percent](nil))
	if code, out := validated(t, text, first.Register, second.Register); code != exitUsage || !strings.Contains(out, "envoy.type.v3.Percent") {
		t.Errorf("exit code %d, %s; want 1 and the name of the type", code, out)
	}
}
