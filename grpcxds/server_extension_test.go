package grpcxds

import (
	"fmt"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"  // for prototext
	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/plugins/extension"
)

// discovered is an HTTP filter whose configuration is a separate resource.
func discovered(name, more string) string {
	return fmt.Sprintf(`http_filters { name: %q config_discovery { config_source { ads {} } } %s } `, name, more)
}

// The instance of a filter whose configuration is a separate resource survives its updates, also in an unnamed filter chain
// (A104).
func TestExtensionsOfAServer(t *testing.T) {
	var d diary
	w := newWorld(t, xdsforge.WithTypes(d.register))
	s := w.serve()
	want := func(step string, events ...string) {
		t.Helper()
		s.eventually(fmt.Sprintf("%s: the events are %q", step, events), func() bool { return d.has(events...) })
	}
	extend := func(text string) {
		t.Helper()
		if err := w.plane.SetText("diary", new(corev3.TypedExtensionConfig), `name: "diary" typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: %q } }`, text); err != nil {
			t.Fatal(err)
		}
	}
	w.publishListener(fmt.Sprintf(`name: %q address { socket_address { address: "127.0.0.1" port_value: %d } } filter_chains { %s }`,
		s.name, s.port, network(discovered("diary", "")+inline(anyRoute))))
	extend("a")
	want("the configuration comes", "create 1 of diary", "1 reads a")
	extend("b")
	want("another configuration", "create 1 of diary", "1 reads a", "1 reads b")
	s.Stop()
	want("stopped", "create 1 of diary", "1 reads a", "1 reads b", "close 1")
}

// A server waits for the configurations of HTTP filters. Calls fail while one of them is missing, as with missing routes. A
// filter that cannot run on servers is skipped if it is optional (A36, A104).
func TestServerWithoutExtension(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		s := w.serve("10.0.0.1:80")
		extend := func(config string) {
			w.set(extension.Type().URL(), new(corev3.TypedExtensionConfig), `name: "e" typed_config { %s }`, config)
			w.pass(time.Second)
		}
		w.publish(anyChain(discovered("e", "") + inline(anyRoute)))
		w.pass(time.Second)
		if len(s.events) > 0 {
			w.Errorf("the server reports %+v before the configuration is known", <-s.events)
		}
		w.pass(time.Minute)
		c := w.dial("passthrough:///10.0.0.1:80")
		w.expect("the configuration is missing", w.call(c, time.Second), codes.Unavailable, `TypedExtensionConfig "e": does not exist`, "xDS node id: n")
		extend(`[type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { rules { } }`)
		w.expect("it denies all calls", w.call(c, time.Second), codes.PermissionDenied)
		extend(`[type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { }`)
		w.expect("it allows all calls", w.call(c, time.Second), codes.OK)
		extend(`[type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { }`)
		w.expect("a filter for clients", w.call(c, time.Second), codes.Unavailable, "the configuration of the route cannot be used")
		w.publish(anyChain(discovered("e", "is_optional: true") + inline(anyRoute)))
		w.pass(time.Second)
		w.expect("an optional filter for clients", w.call(c, time.Second), codes.OK)
	})
}
