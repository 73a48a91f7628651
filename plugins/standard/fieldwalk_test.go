package standard_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

const (
	walkManager = `[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] { stat_prefix: "s"
		rds { route_config_name: "r" config_source { ads {} } } http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } }`
	walkTLS = `transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] {
		common_tls_context { validation_context { ca_certificate_provider_instance { instance_name: "roots" } } } } } }`
	walkServerTLS = `transport_socket { name: "envoy.transport_sockets.tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext] {
		common_tls_context { tls_certificate_provider_instance { instance_name: "identity" } validation_context { ca_certificate_provider_instance { instance_name: "roots" } } } } } }`
	walkServer = `name: "l" address { socket_address { address: "10.0.0.1" port_value: 80 } } filter_chains { ` + walkServerTLS + ` filters { name: "m" typed_config { ` + walkManager + ` } } }`
	walkEDS    = `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } `
)

// TestHTTPIgnoresNothingThatGRPCRejects sets each field of valid resources, and of the messages in them. A value that profile
// GRPC rejects must change the update of profile HTTP, or be rejected there, too: programs of both act on it (ADR 331).
func TestHTTPIgnoresNothingThatGRPCRejects(t *testing.T) {
	probes := 0
	for _, base := range []struct {
		typ  resource.Type
		m    proto.Message
		text string
	}{
		{listener.Type(), new(listenerv3.Listener), `name: "l" api_listener { api_listener { ` + walkManager + ` } }`},
		{listener.Type(), new(listenerv3.Listener), walkServer},
		{route.Type(), new(routev3.RouteConfiguration), `name: "r" virtual_hosts { name: "v" domains: "*" retry_policy { retry_on: "5xx" } routes { match { prefix: "/" } route { cluster: "c" } } }`},
		{route.Type(), new(routev3.RouteConfiguration), `name: "r" virtual_hosts { name: "v" domains: "*" routes { match { prefix: "/" } route { weighted_clusters { clusters { name: "c" weight { value: 3 } } } } } }`},
		{route.Type(), new(routev3.RouteConfiguration), `name: "r" virtual_hosts { name: "v" domains: "*" routes { match { path: "/a" headers { name: "x" string_match { exact: "b" } } } non_forwarding_action {} } }`},
		{cluster.Type(), new(clusterv3.Cluster), walkEDS + walkTLS + `outlier_detection {} circuit_breakers { thresholds {} } lrs_server { self {} }`},
		{cluster.Type(), new(clusterv3.Cluster), `name: "c" type: LOGICAL_DNS load_assignment { cluster_name: "c" endpoints { lb_endpoints { endpoint { address { socket_address { address: "a.example" port_value: 80 } } } } } }`},
		{endpoint.Type(), new(endpointv3.ClusterLoadAssignment), `cluster_name: "c" endpoints { locality { zone: "z" } load_balancing_weight { value: 2 } lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: 80 } } } } }`},
	} {
		if err := prototext.Unmarshal([]byte(base.text), base.m); err != nil {
			t.Fatal(err)
		}
		w := &walker{
			TB: t, typ: base.typ, root: base.m, visited: make(map[string]bool),
			gRPC: plugincase.Context(t), http: plugincase.Context(t, plugincase.Profile(resource.HTTP)),
		}
		w.walk(base.m.ProtoReflect(), func() {}, place{})
		probes += w.probes
	}
	if probes < 1000 {
		t.Errorf("%d values were tried, want at least 1000", probes)
	}
}

// A walker changes one resource.
type walker struct {
	testing.TB
	typ        resource.Type
	root       proto.Message
	gRPC, http *resource.DecodeContext
	visited    map[string]bool // fields of messages
	probes     int
}

func (w *walker) decode(dc *resource.DecodeContext) (resource.Update, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(w.root)
	if err != nil {
		w.Fatal(err)
	}
	return plugincase.DecodeBytes(dc, w.typ, body)
}

// A place is the place of a message in the root.
type place struct {
	path  string
	depth int
	quiet int // messages above that no profile reads
}

const maxDepth, maxQuiet = 12, 1

// walk tries values of the fields of a message in the root. commit writes the message into the Anys around it.
func (w *walker) walk(m protoreflect.Message, commit func(), at place) {
	gRPC, err1 := w.decode(w.gRPC)
	http, err2 := w.decode(w.http)
	if err1 != nil || err2 != nil || at.depth > maxDepth || at.quiet > maxQuiet {
		return // no value can be judged
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		key := at.path + " " + string(m.Descriptor().FullName()) + "." + string(f.Name())
		if w.visited[key] {
			continue
		}
		w.visited[key] = true
		below := place{strings.TrimPrefix(at.path+"."+string(f.Name()), "."), at.depth + 1, at.quiet}
		before := proto.Clone(m.Interface()).ProtoReflect()
		for _, set := range changes(m, f) {
			set(m)
			commit()
			read := w.probe(below.path, gRPC, http)
			if f.Message() != nil && !before.Has(f) {
				inner := below
				inner.quiet++
				if read {
					inner.quiet = 0
				}
				w.inside(m, f, commit, inner)
			}
			restore(m, before)
			commit()
		}
		if before.Has(f) {
			w.inside(m, f, commit, below)
		}
	}
}

// probe compares the verdicts of the changed root, and reports whether a profile reads the value.
func (w *walker) probe(at string, gRPC, http resource.Update) (read bool) {
	w.probes++
	a, err1 := w.decode(w.gRPC)
	b, err2 := w.decode(w.http)
	ignored := err2 == nil && same(http, b)
	if err1 != nil && ignored && !slices.ContainsFunc(evaluatedByServers(), func(field string) bool { return strings.HasSuffix(at, field) }) {
		w.Errorf("%s %s: profile HTTP ignores a value that profile GRPC rejects: %v", w.typ.Name(), at, err1)
	}
	return err1 != nil || !ignored || !same(gRPC, a)
}

// evaluatedByServers are the fields whose conditions HTTP clients and servers evaluate for each request. Tests of package
// httpxds show that.
func evaluatedByServers() []string {
	return []string{"match.cookies", "match.tls_context.presented", "match.tls_context.validated", "virtual_hosts[].require_tls"}
}

func same(a, b resource.Update) bool {
	return reflect.ValueOf(a).MethodByName("Equal").Call([]reflect.Value{reflect.ValueOf(b)})[0].Bool()
}

// inside walks the messages of a field.
func (w *walker) inside(m protoreflect.Message, f protoreflect.FieldDescriptor, commit func(), at place) {
	if f.Message() == nil || f.IsMap() || strings.HasPrefix(string(f.Message().FullName()), "google.protobuf.") && f.Message().FullName() != "google.protobuf.Any" {
		return
	}
	inner := m.Get(f)
	if !f.IsList() {
		w.open(inner.Message(), commit, at)
		return
	}
	if n := inner.List().Len(); n > 0 {
		at.path += "[]"
		w.open(inner.List().Get(n-1).Message(), commit, at)
	}
}

// open walks a message, or the message in an Any.
func (w *walker) open(m protoreflect.Message, commit func(), at place) {
	a, ok := m.Interface().(*anypb.Any)
	if !ok {
		w.walk(m, commit, at)
		return
	}
	content, err := a.UnmarshalNew()
	if err != nil || strings.HasPrefix(string(content.ProtoReflect().Descriptor().FullName()), "google.protobuf.") {
		return
	}
	w.walk(content.ProtoReflect(), func() {
		if err := anypb.MarshalFrom(a, content, proto.MarshalOptions{Deterministic: true}); err != nil {
			w.Fatal(err)
		}
		commit()
	}, at)
}

// restore makes the fields of a message those of another one. The message stays in its place.
func restore(m, before protoreflect.Message) {
	proto.Reset(m.Interface())
	proto.Merge(m.Interface(), before.Interface())
}
