package csds_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/cncf/xds/go/udpa/annotations"
	typedv3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/plugins/secret"
)

// hunter2 is the sensitive content of the tests.
const hunter2 = "hunter2"

// others is a CSDS that has one client with one resource.
type others struct {
	statusv3.UnimplementedClientStatusDiscoveryServiceServer

	scope    string
	resource *anypb.Any
	err      error
}

// FetchClientStatus implements the service.
func (o *others) FetchClientStatus(context.Context, *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	return &statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{{
		ClientScope: o.scope, GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{{Name: "r", XdsConfig: o.resource}},
	}}}, o.err
}

// redact returns a resource as the service shows it.
func redact(t *testing.T, c csds.Config, a *anypb.Any) *anypb.Any {
	t.Helper()
	c.Others = []statusv3.ClientStatusDiscoveryServiceServer{&others{resource: a}}
	resp := fetch(t, serve(t, c), new(statusv3.ClientStatusRequest))
	return resp.GetConfig()[0].GetGenericXdsConfigs()[0].GetXdsConfig()
}

func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func inline(s string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: s}}
}

func tlsContext(key string) *tlsv3.UpstreamTlsContext {
	return &tlsv3.UpstreamTlsContext{Sni: "host", CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: inline("chain"), PrivateKey: inline(key)}},
	}}
}

func withSocket(a *anypb.Any) *clusterv3.Cluster {
	return &clusterv3.Cluster{Name: "c", TransportSocket: &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: a}}}
}

// typedStruct is the JSON form of a message, within a TypedStruct.
func typedStruct(t *testing.T, m proto.Message) *typedv3.TypedStruct {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	s := new(structpb.Struct)
	if err := protojson.Unmarshal(b, s); err != nil {
		t.Fatal(err)
	}
	return &typedv3.TypedStruct{TypeUrl: "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName()), Value: s}
}

// The service replaces marked fields, also within an Any and a TypedStruct, and nothing else.
func TestRedaction(t *testing.T) {
	for name, build := range map[string]func(key string) proto.Message{
		"a secret": func(key string) proto.Message {
			return &tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
				CertificateChain: inline("chain"), PrivateKey: inline(key), Password: inline(key),
			}}}
		},
		"a list": func(key string) proto.Message {
			return &tlsv3.Secret{Type: &tlsv3.Secret_SessionTicketKeys{SessionTicketKeys: &tlsv3.TlsSessionTicketKeys{
				Keys: []*corev3.DataSource{inline(key), {Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(key)}}},
			}}}
		},
		"a map": func(key string) proto.Message {
			return &tlsv3.Secret{Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secrets: map[string]*corev3.DataSource{"k": inline(key)}}}}
		},
		"an Any":        func(key string) proto.Message { return withSocket(pack(t, tlsContext(key))) },
		"a TypedStruct": func(key string) proto.Message { return withSocket(pack(t, typedStruct(t, tlsContext(key)))) },
		"an Any in an Any": func(key string) proto.Message {
			return withSocket(pack(t, pack(t, tlsContext(key))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := redact(t, csds.Config{}, pack(t, build(hunter2))).UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			// The order of a map within a packed message is arbitrary, so compare the unpacked text.
			if want := build("[redacted]"); protojson.Format(got) != protojson.Format(want) {
				t.Errorf("redacted to %v, want %v", protojson.Format(got), protojson.Format(want))
			}
			all := pack(t, build(hunter2))
			if got := redact(t, csds.Config{ShowSensitive: true}, all); !proto.Equal(got, all) {
				t.Errorf("ShowSensitive shows %v, want %v", got, all)
			}
		})
	}
}

// A resource without secrets is shown with the bytes as received, and so is a message of an unknown
// type.
func TestRedactionKeepsBytes(t *testing.T) {
	field := func(b []byte, num protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
	}
	odd := field(field(nil, 28, "stat"), 1, "c") // not in the order of protobuf's encoders
	for name, a := range map[string]*anypb.Any{
		"odd order":     {TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Value: odd},
		"unknown type":  {TypeUrl: "type.googleapis.com/example.Unknown", Value: []byte(hunter2)},
		"unknown below": pack(t, withSocket(&anypb.Any{TypeUrl: "type.googleapis.com/example.Unknown", Value: []byte("x")})),
		"no struct":     pack(t, withSocket(pack(t, typedStruct(t, new(tlsv3.UpstreamTlsContext))))),
	} {
		if got := redact(t, csds.Config{}, a); !proto.Equal(got, a) {
			t.Errorf("%s: %v, want %v", name, got, a)
		}
	}
}

// A message that cannot be read, or is too deep in other messages, has no content.
func TestRedactionWithoutReading(t *testing.T) {
	const url = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	if got := redact(t, csds.Config{}, &anypb.Any{TypeUrl: url, Value: []byte(hunter2)}); got.GetTypeUrl() != url || len(got.GetValue()) != 0 {
		t.Errorf("an unreadable resource is shown as %v", got)
	}
	broken := typedStruct(t, tlsContext(hunter2))
	broken.Value.Fields["sni"] = structpb.NewBoolValue(true)
	if got := redact(t, csds.Config{}, pack(t, withSocket(pack(t, broken)))); bytes.Contains(got.GetValue(), []byte(hunter2)) {
		t.Errorf("an unreadable TypedStruct is shown as %v", got)
	}
	for _, c := range []struct {
		levels int
		shown  bool
	}{{31, true}, {32, false}, {1_000, false}} {
		a := pack(t, withSocket(nil))
		for range c.levels {
			a = pack(t, a)
		}
		if got := redact(t, csds.Config{}, a); bytes.Equal(got.GetValue(), a.GetValue()) != c.shown {
			t.Errorf("%d levels: shown unchanged is not %v", c.levels, c.shown)
		}
	}
}

// Whatever a marked field of any linked message has, none of it is shown.
func TestEveryMarkedFieldIsRedacted(t *testing.T) {
	fields := 0 // of all messages
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		for i := range mt.Descriptor().Fields().Len() {
			fd := mt.Descriptor().Fields().Get(i)
			if marked, _ := proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool); !marked {
				continue
			}
			fields++
			m := mt.New()
			fill(m, fd, 6)
			a := pack(t, m.Interface())
			got := redact(t, csds.Config{}, a)
			if !bytes.Contains(a.GetValue(), []byte(hunter2)) || bytes.Contains(got.GetValue(), []byte(hunter2)) || len(got.GetValue()) == 0 {
				t.Errorf("%s: %v is shown as %v", fd.FullName(), a, got)
			}
			if shown, err := got.UnmarshalNew(); err != nil {
				t.Errorf("%s: %v", fd.FullName(), err)
			} else if _, err := protojson.Marshal(shown); err != nil {
				t.Errorf("%s has no JSON any longer: %v", fd.FullName(), err)
			}
		}
		return true
	})
	if fields < 9 {
		t.Errorf("%d fields are marked, want those of Envoy's messages", fields)
	}
}

// fill sets a field, and all fields of the messages in it, to sensitive content.
func fill(m protoreflect.Message, fd protoreflect.FieldDescriptor, depth int) {
	if depth == 0 || fd.Name() == "type_url" || m.Has(fd) || fd.ContainingOneof() != nil && m.WhichOneof(fd.ContainingOneof()) != nil {
		return
	}
	value := func(fd protoreflect.FieldDescriptor, empty func() protoreflect.Value) protoreflect.Value {
		switch fd.Kind() {
		case protoreflect.StringKind:
			return protoreflect.ValueOfString(hunter2)
		case protoreflect.BytesKind:
			return protoreflect.ValueOfBytes([]byte(hunter2))
		case protoreflect.MessageKind:
			v := empty()
			if a, ok := v.Message().Interface().(*anypb.Any); ok {
				_ = a.MarshalFrom(&structpb.Struct{Fields: map[string]*structpb.Value{
					"text": structpb.NewStringValue(hunter2), "number": structpb.NewNumberValue(7),
				}})
			}
			for i := range v.Message().Descriptor().Fields().Len() {
				fill(v.Message(), v.Message().Descriptor().Fields().Get(i), depth-1)
			}
			v.Message().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 9999, protowire.BytesType), hunter2))
			return v
		default:
			return fd.Default()
		}
	}
	switch {
	case fd.IsMap():
		v := m.Mutable(fd).Map()
		if fd.MapKey().Kind() == protoreflect.StringKind {
			v.Set(protoreflect.ValueOfString("key").MapKey(), value(fd.MapValue(), v.NewValue))
		}
	case fd.IsList():
		v := m.Mutable(fd).List()
		v.Append(value(fd, v.NewElement))
	default:
		m.Set(fd, value(fd, func() protoreflect.Value { return m.NewField(fd) }))
	}
}

// The secrets of a real client are redacted.
func TestSecretsOfAClient(t *testing.T) {
	inWorld(t, func(w *world) {
		t := w.T
		m := &tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: inline(hunter2)}}}
		w.set("s", m)
		watch(w, secret.Type(), "s")
		for show, want := range map[bool]string{false: "[redacted]", true: hunter2} {
			g := w.only(fetch(t, serve(t, csds.Config{ShowSensitive: show}, w.env), new(statusv3.ClientStatusRequest)))
			got := new(tlsv3.Secret)
			if err := g.GetXdsConfig().UnmarshalTo(got); err != nil || got.GetGenericSecret().GetSecret().GetInlineString() != want {
				t.Errorf("ShowSensitive = %v: %v, %v; want %q", show, got, err, want)
			}
		}
	})
}
