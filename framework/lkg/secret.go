package lkg

import (
	"github.com/cncf/xds/go/udpa/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// secretType is the type whose resources are secrets by definition.
const secretType = "envoy.extensions.transport_sockets.tls.v3.Secret"

// maxNesting is the limit of messages within an Any or TypedStruct within another one. Deeper ones
// count as secret.
const maxNesting = 32

// secrets finds resources with a value in a field with the option udpa.annotations.sensitive. It
// remembers the fields: whether a field has the option.
type secrets map[protoreflect.FullName]bool

// in reports whether a resource contains a secret. A resource that cannot be read might.
func (s secrets) in(r *Resource) bool {
	if r.Type == secretType {
		return true
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(r.Type))
	if err != nil {
		return false // as in CSDS, only marked fields are secret
	}
	m := t.New()
	return proto.Unmarshal(r.Body, m.Interface()) != nil || s.message(m, maxNesting)
}

func (s secrets) message(m protoreflect.Message, depth int) (found bool) {
	switch m.Descriptor().FullName() {
	case "google.protobuf.Any":
		return s.any(m, depth)
	case "xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct":
		return s.typedStruct(m, depth)
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		found = s.marked(fd) || s.field(fd, v, depth)
		return !found
	})
	return found
}

func (s secrets) marked(fd protoreflect.FieldDescriptor) bool {
	is, known := s[fd.FullName()]
	if !known {
		is, _ = proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool)
		s[fd.FullName()] = is
	}
	return is
}

// field looks at the messages in a field.
func (s secrets) field(fd protoreflect.FieldDescriptor, v protoreflect.Value, depth int) (found bool) {
	switch {
	case fd.IsMap():
		if fd.MapValue().Message() == nil {
			return false
		}
		v.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
			found = s.message(value.Message(), depth)
			return !found
		})
		return found
	case fd.Message() == nil:
		return false
	case fd.IsList():
		for i := range v.List().Len() {
			if s.message(v.List().Get(i).Message(), depth) {
				return true
			}
		}
		return false
	}
	return s.message(v.Message(), depth)
}

func (s secrets) any(m protoreflect.Message, depth int) bool {
	url, value := m.Descriptor().Fields().ByName("type_url"), m.Descriptor().Fields().ByName("value")
	t, err := protoregistry.GlobalTypes.FindMessageByURL(m.Get(url).String())
	if err != nil {
		return false
	}
	inner := t.New()
	return depth == 0 || proto.Unmarshal(m.Get(value).Bytes(), inner.Interface()) != nil || s.message(inner, depth-1)
}

func (s secrets) typedStruct(m protoreflect.Message, depth int) bool {
	url, value := m.Descriptor().Fields().ByName("type_url"), m.Descriptor().Fields().ByName("value")
	t, err := protoregistry.GlobalTypes.FindMessageByURL(m.Get(url).String())
	if err != nil || !m.Has(value) {
		return false
	}
	inner := t.New()
	text, err := protojson.Marshal(m.Get(value).Message().Interface())
	if depth == 0 || err != nil {
		return true
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, inner.Interface()) != nil || s.message(inner, depth-1)
}
