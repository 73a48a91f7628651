package plugintest

import (
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A field is one field of an encoded message, its tag included.
type field struct {
	number protowire.Number
	typ    protowire.Type
	value  []byte // the contents of a bytes field; other fields as encoded
}

// fields splits an encoded message. It returns nil if the bytes are not a message.
func fields(b []byte) []field {
	var out []field
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, typ, b)
		if size < 0 {
			return nil
		}
		f := field{number, typ, b[:size]}
		if typ == protowire.BytesType {
			f.value, _ = protowire.ConsumeBytes(b)
		}
		out = append(out, f)
		b = b[size:]
	}
	return out
}

// encode joins the fields of a message.
func encode(list []field) []byte {
	var out []byte
	for _, f := range list {
		out = protowire.AppendTag(out, f.number, f.typ)
		if f.typ == protowire.BytesType {
			out = protowire.AppendVarint(out, uint64(len(f.value)))
		}
		out = append(out, f.value...)
	}
	return out
}

// mutateWire changes an encoded message, in ways that protobuf defines and in some that it does not.
func mutateWire(rnd *rand.Rand, body []byte, m protoreflect.MessageDescriptor) []byte {
	out := append([]byte(nil), body...)
	for range 1 + rnd.IntN(4) {
		if changed := change1(rnd, out, m); changed != nil {
			out = changed
		}
	}
	return out
}

// change1 makes one change in a message or in a message within it. m is nil for bytes that are not a message.
func change1(rnd *rand.Rand, body []byte, m protoreflect.MessageDescriptor) []byte {
	list := fields(body)
	if m != nil && m.Fields().Len() > 0 && (len(list) == 0 || rnd.IntN(5) == 0) {
		return encode(slices.Insert(list, rnd.IntN(len(list)+1), newField(rnd, m)))
	}
	if len(list) == 0 {
		return mutate(rnd, body)
	}
	i := rnd.IntN(len(list))
	f := &list[i]
	inner := protoreflect.MessageDescriptor(nil)
	if m != nil {
		if d := m.Fields().ByNumber(f.number); d != nil {
			inner = d.Message()
		}
	}
	if f.typ == protowire.BytesType && (inner != nil || len(f.value) > 0) && rnd.IntN(4) > 0 {
		f.value = change1(rnd, f.value, inner)
		return encode(list)
	}
	return changeField(rnd, list, i)
}

// newField returns a random field of a message, empty or with a small value. A member of a oneof replaces another
// member.
func newField(rnd *rand.Rand, m protoreflect.MessageDescriptor) field {
	d := m.Fields().Get(rnd.IntN(m.Fields().Len()))
	switch d.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return field{d.Number(), protowire.BytesType, []byte("xyz")[:rnd.IntN(2)]}
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return field{d.Number(), protowire.Fixed32Type, protowire.AppendFixed32(nil, rnd.Uint32())}
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return field{d.Number(), protowire.Fixed64Type, protowire.AppendFixed64(nil, rnd.Uint64())}
	default:
		return field{d.Number(), protowire.VarintType, protowire.AppendVarint(nil, rnd.Uint64N(4))}
	}
}

// changeField changes, moves, repeats or splits one field of a message.
func changeField(rnd *rand.Rand, list []field, i int) []byte {
	f := &list[i]
	switch rnd.IntN(12) {
	case 0: // again
		list = append(list, *f)
	case 1: // elsewhere
		j := rnd.IntN(len(list))
		list[i], list[j] = list[j], list[i]
	case 2: // gone
		list = append(list[:i:i], list[i+1:]...)
	case 3: // in two parts, which merge if it is a message
		if parts := fields(f.value); f.typ == protowire.BytesType && len(parts) > 1 {
			second := *f
			second.value = encode(parts[len(parts)/2:])
			f.value = encode(parts[:len(parts)/2])
			list = append(list, second)
		}
	case 4: // under another number
		f.number = protowire.Number(1 + rnd.Int32N(20))
	case 5: // of another wire type
		list[i] = otherType(rnd, f.number)
	case 6: // an unknown group around it
		group := protowire.AppendTag(encode([]field{*f}), 2047, protowire.EndGroupType)
		list[i] = field{2047, protowire.StartGroupType, group}
	case 7: // a long varint
		if f.typ == protowire.VarintType {
			f.value = long(f.value)
		}
	case 8: // too short
		body := encode(list)
		return body[:rnd.IntN(len(body))]
	case 9: // empty
		if f.typ == protowire.BytesType {
			f.value = nil
		}
	case 10: // an end of no group
		return protowire.AppendTag(encode(list), f.number, protowire.EndGroupType)
	default:
		f.value = mutate(rnd, f.value)
	}
	return encode(list)
}

// otherType returns a field with a random wire type.
func otherType(rnd *rand.Rand, number protowire.Number) field {
	switch rnd.IntN(4) {
	case 0:
		return field{number, protowire.VarintType, protowire.AppendVarint(nil, rnd.Uint64()>>rnd.IntN(64))}
	case 1:
		return field{number, protowire.Fixed32Type, protowire.AppendFixed32(nil, rnd.Uint32())}
	case 2:
		return field{number, protowire.Fixed64Type, protowire.AppendFixed64(nil, rnd.Uint64())}
	default:
		return field{number, protowire.BytesType, protowire.AppendVarint(nil, rnd.Uint64()>>rnd.IntN(64))}
	}
}

// long pads a varint with redundant bytes. With too many of them it is invalid.
func long(varint []byte) []byte {
	out := append([]byte(nil), varint...)
	out[len(out)-1] |= 0x80
	return append(out, 0x80, 0x80, 0)
}
