package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Check reports whether all of b is a valid encoding of a message of m's type: nested messages, the
// depth of nesting, and UTF-8 in strings. Only m's type is used. Messages in an Any are not
// checked. It is slow: [Budget.Within] and [Reader.Check] are faster, because a budget keeps the rules
// of types.
func Check(b []byte, m proto.Message) bool {
	r := Read(b)
	return r.Check(m)
}

// Check is [Check] of the message that r would enter. It reads nothing.
func (r *Reader) Check(m proto.Message) bool {
	ahead := *r
	r.budget.plan(m).check(&ahead)
	return ahead.OK() || r.fail()
}

// check checks the message that r would enter.
func (p *plan) check(r *Reader) {
	p.once.Do(p.build)
	outer := p.enter(r)
	for r.Next() {
		if r.tag&7 != Len {
			r.Skip()
			continue
		}
		switch one := p.of(protowire.Number(r.tag >> 3)); one.content {
		case anyBytes:
			r.Bytes()
		case utf8Text:
			if !utf8.Valid(r.Bytes()) {
				r.fail()
			}
		case fields:
			one.child.check(r)
		default:
			r.packed(one.content)
		}
	}
	r.Leave(outer)
}

// A content is what the value of a field must be if its wire type is Len.
type content uint8

const (
	anyBytes content = iota // also of unknown fields
	utf8Text
	fields // of a message, or of an entry of a map
	packedVarints
	packedFixed32
	packedFixed64
)

// contentOf returns the content of a field.
func contentOf(f protoreflect.FieldDescriptor) content {
	switch kind := f.Kind(); {
	case kind == protoreflect.StringKind && enforcesUTF8(f):
		return utf8Text
	case kind == protoreflect.MessageKind:
		return fields
	case kind == protoreflect.StringKind || kind == protoreflect.BytesKind || kind == protoreflect.GroupKind:
		return anyBytes
	case !f.IsList():
		return anyBytes // an unknown field, by its wire type
	case kind == protoreflect.FloatKind || kind == protoreflect.Fixed32Kind || kind == protoreflect.Sfixed32Kind:
		return packedFixed32
	case kind == protoreflect.DoubleKind || kind == protoreflect.Fixed64Kind || kind == protoreflect.Sfixed64Kind:
		return packedFixed64
	default:
		return packedVarints
	}
}

// packed checks packed scalars.
func (r *Reader) packed(c content) {
	outer := r.Inside()
	for r.More() {
		switch c {
		case packedFixed32:
			r.Fixed32()
		case packedFixed64:
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
