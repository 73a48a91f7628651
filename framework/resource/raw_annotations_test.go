package resource_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// withoutMethods is a message with the same content that has no generated methods.
func withoutMethods(t *testing.T, m proto.Message) proto.Message {
	t.Helper()
	out := dynamicpb.NewMessage(m.ProtoReflect().Descriptor())
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(body, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A message that its annotations forbid is rejected without the method ValidateAll.
func TestAddMessageWithoutMethods(t *testing.T) {
	bad := &clusterv3.Cluster{
		Name: "c", OutlierDetection: &clusterv3.OutlierDetection{Interval: durationpb.New(0)},
		Filters: []*clusterv3.Filter{{}},
	}
	var v resource.Violations
	v.AddMessage(resource.Path{}, withoutMethods(t, bad))
	const want = `outlier_detection.interval = 0s; value must be greater than 0s, and filters[0].name = ""; value must fulfil the rule min_len = 1`
	if err := v.Err(); err == nil || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
}

// A list may have as many elements as its annotation allows.
func TestAnnotationOfTheLengthOfAList(t *testing.T) {
	for n, valid := range map[int]bool{1000: true, 1001: false} {
		m := &routev3.VirtualHost{Name: "h", Domains: []string{"*"}}
		for range n {
			m.RequestHeadersToAdd = append(m.RequestHeadersToAdd, &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: "k"}})
		}
		var v resource.Violations
		v.AddMessage(resource.Path{}, withoutMethods(t, m))
		if got, want := v.Err(), m.ValidateAll(); (got == nil) != valid || (want == nil) != valid {
			t.Errorf("%d headers: annotations: %v, ValidateAll: %v; want valid: %t", n, got, want, valid)
		}
	}
}

// The verdicts by annotations are those of ValidateAll, for random messages.
func TestAnnotationsDifferential(t *testing.T) {
	for _, m := range []proto.Message{
		new(clusterv3.Cluster), new(clusterv3.OutlierDetection), new(clusterv3.CircuitBreakers), new(corev3.Address), new(corev3.GrpcService), new(corev3.Node),
		new(corev3.HttpUri), new(corev3.Http2ProtocolOptions), new(corev3.HealthCheck), new(endpointv3.ClusterLoadAssignment), new(listenerv3.Listener),
		new(listenerv3.FilterChainMatch), new(rbacv3.RBAC), new(rbacv3.Policy), new(routev3.RouteConfiguration), new(routev3.VirtualHost), new(routev3.RouteMatch),
		new(routev3.RetryPolicy), new(routev3.RateLimit), new(routev3.WeightedCluster), new(tlsv3.Secret), new(tlsv3.CertificateValidationContext),
	} {
		t.Run(string(m.ProtoReflect().Descriptor().FullName()), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 300 {
				m := m.ProtoReflect().New().Interface()
				fill(rnd, m.ProtoReflect(), 3, nil)
				want := m.(interface{ ValidateAll() error }).ValidateAll()
				var v resource.Violations
				v.AddMessage(resource.Path{}, withoutMethods(t, m))
				if err := v.Err(); (err == nil) != (want == nil) {
					t.Fatalf("annotations: %v\nValidateAll: %v\n%s", err, want, protojson.Format(m))
				}
			}
		})
	}
}

// fill sets random fields, and messages down to a depth.
func fill(rnd *rand.Rand, m protoreflect.Message, depth int, above []protoreflect.FullName) {
	above = append(slices.Clone(above), m.Descriptor().FullName())
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if rnd.IntN(3) > 0 {
			continue
		}
		if f.IsMap() {
			entries := m.Mutable(f).Map()
			k, _ := random(rnd, f.MapKey(), protoreflect.Value{}, depth, above)
			if x, ok := random(rnd, f.MapValue(), entries.NewValue(), depth, above); ok {
				entries.Set(k.MapKey(), x)
			}
			continue
		}
		if f.IsList() {
			list := m.Mutable(f).List()
			for range rnd.IntN(3) {
				if v, ok := random(rnd, f, list.NewElement(), depth, above); ok {
					list.Append(v)
				}
			}
			continue
		}
		if v, ok := random(rnd, f, m.NewField(f), depth, above); ok {
			m.Set(f, v)
		}
	}
}

func random(rnd *rand.Rand, f protoreflect.FieldDescriptor, empty protoreflect.Value, depth int, above []protoreflect.FullName) (protoreflect.Value, bool) {
	number := []int{0, 0, 1, 2, 5, 50, 200, 700}[rnd.IntN(8)]
	switch f.Kind() {
	case protoreflect.MessageKind:
		name := f.Message().FullName()
		known := f.Message().ParentFile().Package() == "google.protobuf"
		if name == "google.protobuf.Any" || name == "google.protobuf.Value" || name == "google.protobuf.Struct" || name == "google.protobuf.ListValue" {
			return empty, true
		}
		if name == "google.protobuf.Duration" {
			empty.Message().Set(f.Message().Fields().ByName("seconds"), protoreflect.ValueOfInt64(int64(rnd.IntN(3))))
			return empty, true
		}
		if !known && (depth == 0 || slices.Contains(above, name)) {
			return empty, false
		}
		fill(rnd, empty.Message(), depth-1, above)
		return empty, true
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "a", "a", "/a", "A: b", "a\x00", "http://a.b/"}[rnd.IntN(7)]), true
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{1}), true
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true), true
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number)), true
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return protoreflect.ValueOfInt32(int32(number)), true
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(number)), true
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(number)), true
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(number)), true
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(number)), true
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(number)), true
	default: // no field of these messages has another kind
		return empty, false
	}
}
