package xdsconfig_test

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// serverOnly is an HTTP filter that cannot run on clients.
var serverOnly = &resource.HTTPFilter{
	Config: string(new(durationpb.Duration).ProtoReflect().Descriptor().FullName()), Sides: resource.ServerSide,
	Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return "server", nil },
}

// extension sets a resource with the configuration of a fault filter.
func (w *world) extension(name string, faults int) {
	w.t.Helper()
	w.set(extension.Type().URL(), name, new(corev3.TypedExtensionConfig), `name: %q typed_config { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] {
		max_active_faults { value: %d } } }`, name, faults)
}

// discovered returns filters whose configurations are separate resources.
func discovered(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "http_filters { name: %q config_discovery { } } ", name)
	}
	return b.String()
}

// faults returns the filters of the last configuration, with the limits of their faults.
func (w *world) faults() string {
	var parts []string
	for _, f := range w.last.HTTPFilters() {
		switch c := f.Config.(type) {
		case fault.Config:
			parts = append(parts, fmt.Sprint(f.Name, "=", *c.MaxActive))
		default:
			parts = append(parts, f.Name+f.Skipped)
		}
	}
	return strings.Join(parts, " ")
}

// wantFaults compares the filters of the last configuration.
func (w *world) wantFaults(why, want string) {
	w.t.Helper()
	if got := w.faults(); got != want {
		w.t.Errorf("%s: the filters are %q; want %q", why, got, want)
	}
}

// routed is a configuration with the cluster a.
const routed = "a: a=[10.0.0.1:1]" + quiet

// extended starts a world with one cluster.
func extended(t *testing.T, features string, test func(w *world, routes string)) {
	t.Helper()
	in(t, features, func(w *world) {
		w.eds("a", "")
		w.endpoints("a", 1)
		test(w, fmt.Sprintf("route_config { %s }", hosts("a")))
	})
}

// A configuration waits for the configurations of all HTTP filters. An update of one of them is delivered. An update of the
// Listener that names another one leaves the last configuration in use until it is known (A74, A104).
func TestExtensions(t *testing.T) {
	extended(t, "", func(w *world, routes string) {
		w.extension("one", 1)
		w.filtered(routes, discovered("one", "two"))
		w.want("a configuration has not come yet")
		if err := w.watcher.Pending(); err == nil || !strings.Contains(err.Error(), `TypedExtensionConfig "two"`) {
			t.Errorf("the pending resource is %v; want the second configuration", err)
		}
		w.extension("two", 2)
		w.want("both are known", routed)
		w.wantFaults("both are known", "one=1 two=2 router")
		w.extension("one", 3)
		w.want("a configuration changes", routed)
		w.wantFaults("a configuration changes", "one=3 two=2 router")
		before := w.last
		w.filtered(routes, discovered("two", "three"))
		w.want("another configuration has not come yet")
		w.extension("two", 4)
		w.want("a known one changes while the other has not come yet")
		w.extension("three", 5)
		w.want("the other one came", routed)
		w.wantFaults("the other one came", "two=4 three=5 router")
		if w.last.SameRouting(before) || !w.last.SameRouting(w.last) {
			t.Error("configurations with different filters are the same, or equal ones are not")
		}
		if got := len(w.last.Extensions()); got != 2 {
			t.Errorf("the configuration has %d resources of filters; want 2", got)
		}
		if got := w.subscribed(); got != "a a l three two" {
			t.Errorf("subscribed to %q; want only the filters in use", got)
		}
		w.listener(routes)
		w.want("no filter has a resource", routed)
		w.wantFaults("no filter has a resource", "router")
		if got := w.subscribed(); got != "a a l" {
			t.Errorf("subscribed to %q; want no filters", got)
		}
	})
}

// All watches start at once: the configurations of filters do not wait for the routes, nor these for them.
func TestExtensionsBesideRoutes(t *testing.T) {
	in(t, "", func(w *world) {
		w.filtered(`rds { config_source { ads {} } route_config_name: "r" }`, discovered("one", "two"))
		w.want("neither the routes nor the configurations are known")
		if got := w.server.Subscribed(); len(got) != 4 {
			t.Errorf("subscribed to %q; want the Listener, the routes and both configurations", got)
		}
		w.watcher.Close()
	})
}

// A configuration that is missing has the effect of missing routes. The error names it. It is used when it comes (A104).
func TestMissingExtensions(t *testing.T) {
	extended(t, `"fail_on_data_errors"`, func(w *world, routes string) {
		w.filtered(routes, discovered("one"))
		w.elapse()
		w.want("it does not come", `: error: TypedExtensionConfig "one": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]`)
		w.extension("one", 1)
		w.want("it came", routed)
		w.filtered(routes, `http_filters { name: "one" is_optional: true config_discovery { } } `)
		w.want("it is optional", routed)
		w.filtered(routes, `http_filters { name: "none" is_optional: true config_discovery { } } `)
		w.elapse()
		w.want("an optional one does not come", `: error: TypedExtensionConfig "none": does not exist: the control plane did not send it in time after it was asked for [server memory, node n]`)
	})
}

// An invalid update leaves the last configuration in use, with an ambient error in the notes of clusters (A88). The first one
// is an error.
func TestInvalidExtensions(t *testing.T) {
	broken := func(w *world, name string) {
		w.set(extension.Type().URL(), name, new(corev3.TypedExtensionConfig), `name: %q typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] { } }`, name)
	}
	extended(t, "", func(w *world, routes string) {
		const reason = `typed_config = "envoy.extensions.filters.http.router.v3.Router"; must not be of a terminal filter; put it into the Listener (A104)`
		w.filtered(routes, discovered("one", "two"))
		broken(w, "one")
		w.want("the first one is invalid, and the second has not come yet")
		w.extension("two", 2)
		w.want("the second came", `: error: TypedExtensionConfig "one": invalid: `+reason+` [server memory, node n]`)
		w.filtered(routes, discovered("one"))
		w.want("only the invalid one is left")
		w.extension("one", 1)
		w.want("it is valid", routed)
		broken(w, "one")
		w.want("an invalid update", `a: a=[10.0.0.1:1]{TypedExtensionConfig "one": invalid: `+reason+` [server memory, node n]}`)
		w.wantFaults("an invalid update", "one=1 router")
	})
}

// A filter that cannot run on clients is skipped if it is optional. Otherwise calls fail (A39, A104).
func TestExtensionsOfServers(t *testing.T) {
	extended(t, "", func(w *world, routes string) {
		w.set(extension.Type().URL(), "one", new(corev3.TypedExtensionConfig), `name: "one" typed_config { [type.googleapis.com/google.protobuf.Duration] { } }`)
		w.filtered(routes, discovered("one"))
		w.want("it is not optional", `: error: the HTTP filter of the TypedExtensionConfig "one" is a google.protobuf.Duration, which is not registered for a client (A39)`)
		w.filtered(routes, `http_filters { name: "one" is_optional: true config_discovery { } } `)
		w.want("it is optional", routed)
		w.wantFaults("it is optional", "onethe optional filter is not registered for a client router")
	})
}
