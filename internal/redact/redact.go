// Package redact hides sensitive fields of resources that operators see. A field is sensitive if it has
// the option udpa.annotations.sensitive, such as a private key.
package redact

import (
	"github.com/cncf/xds/go/udpa/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// redacted replaces sensitive text and bytes.
const redacted = "[redacted]"

// maxNesting is the limit of messages within an Any or TypedStruct within another one. Each level is
// decoded separately, so the work would grow with the square of the size.
const maxNesting = 32

// A Redactor replaces the sensitive fields of messages. It has, by field, whether the field is marked.
// Only one goroutine may use it at a time.
type Redactor map[protoreflect.FullName]bool

// Resource returns a resource without sensitive values. It returns the resource itself, with the
// bytes as received, if there are none.
func (r Redactor) Resource(a *anypb.Any) *anypb.Any {
	out := &anypb.Any{TypeUrl: a.GetTypeUrl(), Value: a.GetValue()}
	r.any(out.ProtoReflect(), false, maxNesting)
	return out
}

// message redacts the marked fields of a message, or all of them. It reports whether it changed any.
func (r Redactor) message(m protoreflect.Message, all bool, depth int) (changed bool) {
	switch m.Descriptor().FullName() {
	case "google.protobuf.Any":
		return r.any(m, all, depth)
	case "xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct":
		return r.typedStruct(m, all, depth)
	case "google.protobuf.Value":
		if all { // a Value without a kind has no JSON
			m.Set(m.Descriptor().Fields().ByName("string_value"), protoreflect.ValueOfString(redacted))
			return true
		}
	}
	if all && len(m.GetUnknown()) > 0 {
		m.SetUnknown(nil)
		changed = true
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if r.field(m, fd, v, all || r.marked(fd), depth) {
			changed = true
		}
		return true
	})
	return changed
}

// marked reports whether a field has the option udpa.annotations.sensitive.
func (r Redactor) marked(fd protoreflect.FieldDescriptor) bool {
	is, known := r[fd.FullName()]
	if !known {
		is, _ = proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool)
		r[fd.FullName()] = is
	}
	return is
}

// field redacts the messages in a field, or its values if all is set.
func (r Redactor) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, v protoreflect.Value, all bool, depth int) (changed bool) {
	element := fd
	if fd.IsMap() {
		element = fd.MapValue()
	}
	if element.Message() == nil {
		if all {
			hide(m, fd, v)
		}
		return all
	}
	switch {
	case fd.IsMap():
		v.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
			changed = r.message(value.Message(), all, depth) || changed
			return true
		})
	case fd.IsList():
		for i := range v.List().Len() {
			changed = r.message(v.List().Get(i).Message(), all, depth) || changed
		}
	default:
		changed = r.message(v.Message(), all, depth)
	}
	return changed
}

// hide replaces the text and bytes of a field, and clears other values.
func hide(m protoreflect.Message, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	element := fd
	if fd.IsMap() {
		element = fd.MapValue()
	}
	var text protoreflect.Value
	switch element.Kind() {
	case protoreflect.StringKind:
		text = protoreflect.ValueOfString(redacted)
	case protoreflect.BytesKind:
		text = protoreflect.ValueOfBytes([]byte(redacted))
	default:
		m.Clear(fd)
		return
	}
	switch {
	case fd.IsMap():
		v.Map().Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
			v.Map().Set(k, text)
			return true
		})
	case fd.IsList():
		for i := range v.List().Len() {
			v.List().Set(i, text)
		}
	default:
		m.Set(fd, text)
	}
}

// any redacts the message in an Any. It leaves messages of unknown types as they are, unless all is
// set, and clears messages that it cannot read or that are nested too deeply.
func (r Redactor) any(m protoreflect.Message, all bool, depth int) (changed bool) {
	url, value := m.Descriptor().Fields().ByName("type_url"), m.Descriptor().Fields().ByName("value")
	t, err := protoregistry.GlobalTypes.FindMessageByURL(m.Get(url).String())
	if err != nil && !all {
		return false
	}
	if all {
		m.SetUnknown(nil)
	}
	if err == nil && depth > 0 {
		inner := t.New()
		if proto.Unmarshal(m.Get(value).Bytes(), inner.Interface()) == nil {
			if !r.message(inner, all, depth-1) {
				return false
			}
			if b, err := (proto.MarshalOptions{Deterministic: true}).Marshal(inner.Interface()); err == nil {
				m.Set(value, protoreflect.ValueOfBytes(b))
				return true
			}
		}
	}
	m.Clear(value)
	return true
}

// typedStruct redacts the message in a TypedStruct, as any does.
func (r Redactor) typedStruct(m protoreflect.Message, all bool, depth int) (changed bool) {
	url, value := m.Descriptor().Fields().ByName("type_url"), m.Descriptor().Fields().ByName("value")
	t, err := protoregistry.GlobalTypes.FindMessageByURL(m.Get(url).String())
	if err != nil && !all || !m.Has(value) {
		return false
	}
	if err == nil && depth > 0 {
		inner := t.New()
		if convert(m.Get(value).Message().Interface(), inner.Interface()) == nil {
			if !r.message(inner, all, depth-1) {
				return false
			}
			out := new(structpb.Struct)
			if convert(inner.Interface(), out) == nil {
				m.Set(value, protoreflect.ValueOfMessage(out.ProtoReflect()))
				return true
			}
		}
	}
	m.Clear(value)
	return true
}

// convert copies a message to one of another type by its JSON form.
func convert(from, to proto.Message) error {
	b, err := protojson.Marshal(from)
	if err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, to)
}
