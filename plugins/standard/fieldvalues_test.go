package standard_test

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// changes returns changes of a field: plausible values, further elements, and its absence.
func changes(m protoreflect.Message, f protoreflect.FieldDescriptor) []func(protoreflect.Message) {
	var out []func(protoreflect.Message)
	if m.Has(f) {
		out = append(out, func(m protoreflect.Message) { m.Clear(f) })
	}
	switch {
	case f.IsMap():
		if f.MapKey().Kind() == protoreflect.StringKind {
			for _, v := range values(f.MapValue()) {
				out = append(out, func(m protoreflect.Message) {
					m.Mutable(f).Map().Set(protoreflect.ValueOfString("probe").MapKey(), v)
				})
			}
		}
	case f.IsList():
		for _, v := range values(f) {
			out = append(out, func(m protoreflect.Message) { m.Mutable(f).List().Append(v) })
		}
	default:
		for _, v := range values(f) {
			out = append(out, func(m protoreflect.Message) { m.Set(f, v) })
		}
	}
	return out
}

// values returns plausible values of a field or of an element.
func values(f protoreflect.FieldDescriptor) []protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return []protoreflect.Value{protoreflect.ValueOfBool(true), protoreflect.ValueOfBool(false)}
	case protoreflect.StringKind:
		return []protoreflect.Value{protoreflect.ValueOfString("probe"), protoreflect.ValueOfString("/probe")}
	case protoreflect.BytesKind:
		return []protoreflect.Value{protoreflect.ValueOfBytes([]byte("probe"))}
	case protoreflect.EnumKind:
		var out []protoreflect.Value
		for i := range f.Enum().Values().Len() {
			out = append(out, protoreflect.ValueOfEnum(f.Enum().Values().Get(i).Number()))
		}
		return out
	case protoreflect.MessageKind:
		if m := minimal(f.Message(), 0); m != nil {
			return []protoreflect.Value{protoreflect.ValueOfMessage(m)}
		}
		return nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return []protoreflect.Value{protoreflect.ValueOfUint32(3), protoreflect.ValueOfUint32(500)}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return []protoreflect.Value{protoreflect.ValueOfUint64(3), protoreflect.ValueOfUint64(500)}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt32(3)}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt64(3)}
	case protoreflect.DoubleKind:
		return []protoreflect.Value{protoreflect.ValueOfFloat64(3)}
	default:
		return nil
	}
}

// minimal returns a message that follows its own rules, so that no profile rejects it for one of them. It is nil if the
// message is not linked.
func minimal(d protoreflect.MessageDescriptor, depth int) protoreflect.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil || depth > 6 {
		return nil
	}
	m := t.New()
	switch {
	case d.FullName() == "google.protobuf.Any":
		a, err := anypb.New(wrapperspb.String("probe"))
		if err != nil {
			return nil
		}
		return a.ProtoReflect()
	case strings.HasPrefix(string(d.FullName()), "google.protobuf."): // wrappers and durations
		if f := d.Fields().ByNumber(1); f != nil && !f.IsMap() && !f.IsList() && f.Message() == nil {
			m.Set(f, values(f)[0])
		}
		return m
	}
	for range 8 {
		v, ok := m.Interface().(interface{ Validate() error })
		if !ok {
			break
		}
		if err := v.Validate(); err == nil || !repair(m, err, depth) {
			break
		}
	}
	return m
}

// repair sets the field that breaks a rule, and reports whether it found it.
func repair(m protoreflect.Message, err error, depth int) bool {
	var broken interface {
		error
		Field() string
		Cause() error
	}
	if !errors.As(err, &broken) {
		return false
	}
	name, _, _ := strings.Cut(broken.Field(), "[")
	f := named(m.Descriptor(), name)
	switch {
	case f == nil:
		return false
	case f.Message() != nil && !f.IsMap() && !f.IsList() && m.Has(f) && broken.Cause() != nil:
		return repair(m.Mutable(f).Message(), broken.Cause(), depth+1)
	case f.Message() != nil && !f.IsMap():
		v := minimal(f.Message(), depth+1)
		if v == nil {
			return false
		}
		if f.IsList() {
			m.Mutable(f).List().Append(protoreflect.ValueOfMessage(v))
		} else {
			m.Set(f, protoreflect.ValueOfMessage(v))
		}
		return true
	default:
		all := changes(m, f)
		if len(all) == 0 {
			return false
		}
		all[len(all)-1](m)
		return true
	}
}

// named returns the field with a Go name, or the first field of the oneof with that name.
func named(d protoreflect.MessageDescriptor, goName string) protoreflect.FieldDescriptor {
	same := func(n protoreflect.Name) bool {
		return strings.EqualFold(strings.ReplaceAll(string(n), "_", ""), goName)
	}
	for i := range d.Fields().Len() {
		if f := d.Fields().Get(i); same(f.Name()) {
			return f
		}
	}
	for i := range d.Oneofs().Len() {
		if o := d.Oneofs().Get(i); same(o.Name()) {
			return o.Fields().Get(0)
		}
	}
	return nil
}
