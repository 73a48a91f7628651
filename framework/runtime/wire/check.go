package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Check reports whether all of b is a valid encoding of a message of m's type: nested messages, the
// depth of nesting, and UTF-8 in strings. Only m's type is used. Messages in an Any are not
// checked.
func Check(b []byte, m proto.Message) bool {
	r := Read(b)
	return r.Check(m)
}

// Check is [Check] of the message that r would enter. It reads nothing.
func (r *Reader) Check(m proto.Message) bool {
	ahead := *r
	ahead.check(m.ProtoReflect().Descriptor())
	return ahead.OK() || r.fail()
}

// check goes through a message.
func (r *Reader) check(m protoreflect.MessageDescriptor) {
	outer := r.Enter()
	r.fields(m.Fields())
	r.Leave(outer)
}

// fields checks the fields of the entered message.
func (r *Reader) fields(fields protoreflect.FieldDescriptors) {
	for r.Next() {
		number, typ := protowire.DecodeTag(uint64(r.tag))
		r.value(fields.ByNumber(number), typ)
	}
}

// value checks the value of a field; nil is an unknown one.
func (r *Reader) value(f protoreflect.FieldDescriptor, typ protowire.Type) {
	if f == nil || typ != protowire.BytesType {
		r.Skip()
		return
	}
	switch kind := f.Kind(); {
	case kind == protoreflect.StringKind:
		if b := r.Bytes(); enforcesUTF8(f) && !utf8.Valid(b) {
			r.fail()
		}
	case kind == protoreflect.MessageKind && f.IsMap():
		outer := r.Inside()
		r.fields(f.Message().Fields())
		r.Leave(outer)
	case kind == protoreflect.MessageKind:
		r.check(f.Message())
	case f.IsList():
		r.packed(kind)
	default:
		r.Skip()
	}
}

// packed checks packed scalars.
func (r *Reader) packed(kind protoreflect.Kind) {
	outer := r.Inside()
	for r.More() {
		switch kind {
		case protoreflect.BytesKind, protoreflect.GroupKind: // not packed: the value itself
			r.at = len(r.b)
		case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
			r.Fixed32()
		case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
			r.Fixed64()
		default:
			r.varint()
		}
	}
	r.Leave(outer)
}

// enforcesUTF8 reports whether strings of a field must be UTF-8.
func enforcesUTF8(f protoreflect.FieldDescriptor) bool {
	if e, ok := f.(interface{ EnforceUTF8() bool }); ok {
		return e.EnforceUTF8()
	}
	return f.Syntax() == protoreflect.Proto3
}
