package convert

import (
	"strings"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// Encoded returns a message in the form of hooks that take bytes; nil for nil.
func Encoded(m proto.Message) []byte {
	if !m.ProtoReflect().IsValid() {
		return nil
	}
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{}, m)
	if err != nil {
		return nil // an unmarshalled message can be encoded
	}
	return b
}

// OpenAny reads the message in a into m and reports its success. A message of another type, and
// malformed bytes, are violations.
func OpenAny(dc *resource.DecodeContext, p resource.Path, a *anypb.Any, m proto.Message, v *resource.Violations) bool {
	if want := m.ProtoReflect().Descriptor().FullName(); !holds(a, want) {
		v.Add(p, string(a.MessageName()), "must be a "+string(want))
		return false
	}
	if err := dc.Unmarshal(a.GetValue(), m); err != nil {
		v.AddError(p, err)
		return false
	}
	return true
}

// holds reports whether a holds a message of a name, which is valid.
func holds(a *anypb.Any, name protoreflect.FullName) bool {
	url := a.GetTypeUrl()
	return url[strings.LastIndexByte(url, '/')+1:] == string(name)
}

// OpenTyped is [OpenAny] that also accepts a TypedStruct of either kind whose type URL names m's
// message. Its value is the message in protobuf's JSON form (gRFC A39). An invalid value is a
// violation, for example one with a field that the message does not have.
func OpenTyped(dc *resource.DecodeContext, p resource.Path, a *anypb.Any, m proto.Message, v *resource.Violations) bool {
	name, value, ok := typedStruct(dc, a)
	if !ok {
		return OpenAny(dc, p, a, m, v)
	}
	if want := string(m.ProtoReflect().Descriptor().FullName()); name != want {
		v.Add(p.Field("type_url"), name, "must be a "+want)
		return false
	}
	data, err := protojson.Marshal(value)
	if err == nil {
		err = protojson.Unmarshal(data, m)
	}
	if err != nil {
		v.AddError(p.Field("value"), wire.Unparseable(name, err))
		return false
	}
	return true
}

// TypedName returns the full name of the message in a, or of the one that a TypedStruct in a stands
// for.
func TypedName(dc *resource.DecodeContext, a *anypb.Any) string {
	if name, _, ok := typedStruct(dc, a); ok {
		return name
	}
	return string(a.MessageName())
}

// typedStruct opens a if it holds a readable TypedStruct.
func typedStruct(dc *resource.DecodeContext, a *anypb.Any) (name string, value *structpb.Struct, ok bool) {
	var typed interface {
		proto.Message
		GetTypeUrl() string
		GetValue() *structpb.Struct
	}
	switch a.MessageName() {
	case "xds.type.v3.TypedStruct":
		typed = new(xdsv3.TypedStruct)
	case "udpa.type.v1.TypedStruct":
		typed = new(udpav1.TypedStruct)
	default:
		return "", nil, false
	}
	if dc.Unmarshal(a.GetValue(), typed) != nil {
		return "", nil, false
	}
	url := typed.GetTypeUrl()
	return url[strings.LastIndexByte(url, '/')+1:], typed.GetValue(), true
}

// CopyAny returns a copy of a without its unknown fields, for an update to keep. It does not copy
// the bytes.
func CopyAny(a *anypb.Any) *anypb.Any {
	if a == nil {
		return nil
	}
	return &anypb.Any{TypeUrl: a.GetTypeUrl(), Value: a.GetValue()}
}
