package resource_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func decodeRaw[M proto.Message](t *testing.T, typ resource.Spec[*resource.RawUpdate[M]], m M) (*resource.RawUpdate[M], error) {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	name, err := xdstp.Parse("n")
	if err != nil {
		t.Fatal(err)
	}
	return typ.Decode(&resource.DecodeContext{Name: name, Version: "1"}, body)
}

// One line defines a type whose update is the whole message.
func TestRaw(t *testing.T) {
	secrets := resource.Raw((*tlsv3.Secret).GetName)
	if secrets.Name != "envoy.extensions.transport_sockets.tls.v3.Secret" || secrets.Complete {
		t.Errorf("the type is %q, complete: %v", secrets.Name, secrets.Complete)
	}
	if _, err := resource.NewSet(resource.Describe(resource.Define(secrets))); err != nil {
		t.Error(err)
	}
	m := &tlsv3.Secret{Name: "n", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{}}}
	u, err := decodeRaw(t, secrets, m)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(u.Message(), m) || u.Name().String() != "n" || u.Version() != "1" {
		t.Errorf("update %v, %q, %q; want the message, its name and version", u.Message(), u.Name(), u.Version())
	}
	if _, err := secrets.Decode(&resource.DecodeContext{}, []byte{0xff}); err == nil || !strings.HasPrefix(err.Error(), "not a envoy.") {
		t.Errorf("error = %v; want one that names the expected message", err)
	}
	if !resource.Raw((*clusterv3.Cluster).GetName).Complete {
		t.Error("absence does not delete clusters")
	}
}

// The name is the result of the getter. Raw decodes the message only if the getter computes it.
func TestRawNames(t *testing.T) {
	body, err := proto.Marshal(&endpointv3.ClusterLoadAssignment{ClusterName: "c"})
	if err != nil {
		t.Fatal(err)
	}
	for want, typ := range map[string]resource.Spec[*resource.RawUpdate[*endpointv3.ClusterLoadAssignment]]{
		"c":  resource.Raw((*endpointv3.ClusterLoadAssignment).GetClusterName),
		"<c": resource.Raw(func(m *endpointv3.ClusterLoadAssignment) string { return "<" + m.GetClusterName() }),
	} {
		if got, err := typ.PeekName(body); err != nil || got != want {
			t.Errorf("PeekName = %q, %v; want %q", got, err, want)
		}
		if _, err := typ.PeekName([]byte{0xff}); err == nil {
			t.Error("PeekName accepted malformed bytes")
		}
	}
	if resource.Raw[*endpointv3.LbEndpoint](nil).PeekName != nil {
		t.Error("a message without a name has a PeekName")
	}
}

// The violations of protoc-gen-validate get protobuf paths and values.
func TestRawViolations(t *testing.T) {
	_, err := decodeRaw(t, resource.Raw((*clusterv3.Cluster).GetName), &clusterv3.Cluster{
		ConnectTimeout: durationpb.New(-time.Second), PerConnectionBufferLimitBytes: wrapperspb.UInt32(1),
		LoadAssignment:   &endpointv3.ClusterLoadAssignment{ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{}, {Priority: 129}}},
		OutlierDetection: &clusterv3.OutlierDetection{EnforcingSuccessRate: wrapperspb.UInt32(101)},
	})
	want := []string{
		`name = ""; value length must be at least 1 runes`,
		"connect_timeout = -1s; value must be greater than 0s",
		"load_assignment.endpoints[1].priority = 129; value must be less than or equal to 128",
		"outlier_detection.enforcing_success_rate = 101; value must be less than or equal to 100",
	}
	checkViolations(t, err, want)

	_, err = decodeRaw(t, resource.Raw((*routev3.ScopedRouteConfiguration).GetName), &routev3.ScopedRouteConfiguration{
		Name: "n", RouteConfigurationName: "r", Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{}}},
	})
	checkViolations(t, err, []string{"key.fragments[0].type; value is required"})

	_, err = decodeRaw(t, resource.Raw[*corev3.HeaderMap](nil), &corev3.HeaderMap{Headers: []*corev3.HeaderValue{{Key: "a"}, {Value: "\n"}}})
	checkViolations(t, err, []string{
		`headers[1].key = ""; value length must be at least 1 runes`,
		`headers[1].value = "\n"; value does not match regex pattern "^[^\x00\n\r]*$"`,
	})
}

func checkViolations(t *testing.T, err error, want []string) {
	t.Helper()
	var got []string
	if invalid, ok := err.(*resource.ValidationError); ok { //nolint:errorlint // as decoders return it
		for _, v := range invalid.Violations {
			got = append(got, v.String())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("error %v\nviolations %q\nwant       %q", err, got, want)
	}
}

// A message without generated validation is always valid.
func TestRawWithoutValidation(t *testing.T) {
	if _, err := decodeRaw(t, resource.Raw[*structpb.Struct](nil), &structpb.Struct{}); err != nil {
		t.Error(err)
	}
}

func TestRawShard(t *testing.T) {
	typ := resource.Raw((*tlsv3.Secret).GetName)
	shard := typ.NewShard()
	u, err := decodeRaw(t, typ, &tlsv3.Secret{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		shard.Store(u)
		if got, ok := shard.Load(u.Name()); !ok || got != u || shard.Len() != 1 {
			t.Errorf("Load = %v, %v of %d; want the stored update", got, ok, shard.Len())
		}
	}
	if all := slices.Collect(shard.All()); len(all) != 1 || all[0] != u {
		t.Errorf("All yields %v", all)
	}
	for r := range shard.Referrers(resource.Ref{Type: typ.Name, Name: u.Name()}) {
		t.Errorf("%v refers to something", r)
	}
	for range 2 {
		shard.Delete(u.Name())
		if _, ok := shard.Load(u.Name()); ok || shard.Len() != 0 {
			t.Error("Load found a deleted update")
		}
	}
}
