package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Check reports whether b is an encoded message of m's type in every byte: the
// messages in it, how deep they are nested, and that strings are UTF-8. Of m, only
// the type counts. Messages in an Any are not looked into.
func Check(b []byte, m proto.Message) bool {
	r := Read(b)
	return r.check(m.ProtoReflect().Descriptor())
}

// check goes through a message.
func (r *Reader) check(m protoreflect.MessageDescriptor) bool {
	fields := m.Fields()
	for r.Next() {
		number, typ := protowire.DecodeTag(uint64(r.tag))
		r.value(fields.ByNumber(number), typ)
	}
	return r.OK()
}

// value checks the value of a field; nil is an unknown one.
func (r *Reader) value(f protoreflect.FieldDescriptor, typ protowire.Type) {
	switch {
	case f == nil || typ != protowire.BytesType:
		r.Skip()
	case f.IsMap():
		entry := r.Inside()
		if !entry.check(f.Message()) {
			r.fail()
		}
	case f.Kind() == protoreflect.MessageKind:
		sub := r.Sub()
		if !sub.check(f.Message()) {
			r.fail()
		}
	case f.Kind() == protoreflect.StringKind:
		if b := r.Bytes(); enforcesUTF8(f) && !utf8.Valid(b) {
			r.fail()
		}
	case f.IsList():
		r.packed(f.Kind())
	default:
		r.Skip()
	}
}

// packed checks packed scalars.
func (r *Reader) packed(kind protoreflect.Kind) {
	e := r.Inside()
	for e.More() {
		switch kind {
		case protoreflect.BytesKind, protoreflect.GroupKind:
			return // not packed: the value itself
		case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
			e.Fixed32()
		case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
			e.Fixed64()
		default:
			e.varint()
		}
	}
	if !e.OK() {
		r.fail()
	}
}

// enforcesUTF8 reports whether strings of a field must be UTF-8.
func enforcesUTF8(f protoreflect.FieldDescriptor) bool {
	if e, ok := f.(interface{ EnforceUTF8() bool }); ok {
		return e.EnforceUTF8()
	}
	return f.Syntax() == protoreflect.Proto3
}
