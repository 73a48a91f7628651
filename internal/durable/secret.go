package durable

import (
	"github.com/cncf/xds/go/udpa/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// secretType is the type whose resources are secrets by definition.
const secretType = "envoy.extensions.transport_sockets.tls.v3.Secret"

// maxNesting is the limit of messages within an Any or TypedStruct within another one. Deeper ones
// count as secret.
const maxNesting = 32

// Secrets finds resources with a value in a field with the option udpa.annotations.sensitive. It is not safe for
// concurrent use.
type Secrets struct {
	fields   map[protoreflect.FullName]bool // whether a field has the option
	messages map[protoreflect.FullName]bool // whether a message may lead to such a field
}

// NewSecrets returns a search.
func NewSecrets() Secrets {
	return Secrets{fields: make(map[protoreflect.FullName]bool), messages: make(map[protoreflect.FullName]bool)}
}

// mayHold reports whether an encoded message has a marked field, or a message of a type that is known
// only by its content. It allocates nothing, so that few resources have to be decoded.
func (s *Secrets) mayHold(m protoreflect.MessageDescriptor, b []byte) bool {
	if !s.leads(m) {
		return false
	}
	if isOpen(m) {
		return true
	}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return true
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return true
		}
		value := b[:n]
		b = b[n:]
		fd := m.Fields().ByNumber(num)
		if fd == nil {
			continue
		}
		if s.marked(fd) {
			return true
		}
		if fd.Message() == nil || typ != protowire.BytesType {
			continue
		}
		if value, _ = protowire.ConsumeBytes(value); s.mayHold(fd.Message(), value) {
			return true
		}
	}
	return false
}

// isOpen reports whether messages of the type contain a message of any type.
func isOpen(m protoreflect.MessageDescriptor) bool {
	switch m.FullName() {
	case "google.protobuf.Any", "xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct":
		return true
	}
	return false
}

// leads reports whether a message, or one in its fields, has a marked field or is open.
func (s *Secrets) leads(m protoreflect.MessageDescriptor) bool {
	name := m.FullName()
	if is, known := s.messages[name]; known {
		return is
	}
	found := false
	for todo, seen := []protoreflect.MessageDescriptor{m}, map[protoreflect.FullName]bool{name: true}; len(todo) > 0 && !found; {
		found = isOpen(todo[0])
		fields := todo[0].Fields()
		todo = todo[1:]
		for i := range fields.Len() {
			fd := fields.Get(i)
			found = found || s.marked(fd)
			if next := fd.Message(); next != nil && !seen[next.FullName()] {
				seen[next.FullName()] = true
				todo = append(todo, next)
			}
		}
	}
	s.messages[name] = found
	return found
}

// In reports whether an encoded message, given by its full name, contains a secret. One that cannot be read might.
func (s *Secrets) In(message string, body []byte) bool {
	if message == secretType {
		return true
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(message))
	if err != nil {
		return false // as in CSDS, only marked fields are secret
	}
	if !s.mayHold(t.Descriptor(), body) {
		return false
	}
	m := t.New()
	return proto.Unmarshal(body, m.Interface()) != nil || s.message(m, maxNesting)
}

func (s *Secrets) message(m protoreflect.Message, depth int) (found bool) {
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

func (s *Secrets) marked(fd protoreflect.FieldDescriptor) bool {
	is, known := s.fields[fd.FullName()]
	if !known {
		is, _ = proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool)
		s.fields[fd.FullName()] = is
	}
	return is
}

// field looks at the messages in a field.
func (s *Secrets) field(fd protoreflect.FieldDescriptor, v protoreflect.Value, depth int) (found bool) {
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

func (s *Secrets) any(m protoreflect.Message, depth int) bool {
	url, value := m.Descriptor().Fields().ByName("type_url"), m.Descriptor().Fields().ByName("value")
	t, err := protoregistry.GlobalTypes.FindMessageByURL(m.Get(url).String())
	if err != nil {
		return false
	}
	inner := t.New()
	return depth == 0 || proto.Unmarshal(m.Get(value).Bytes(), inner.Interface()) != nil || s.message(inner, depth-1)
}

func (s *Secrets) typedStruct(m protoreflect.Message, depth int) bool {
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
